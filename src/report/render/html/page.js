// Crosshair, zoom and pinned figures. The page is whole without it: every figure is also in a title or in a table.
"use strict";
(() => {
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);
  document.querySelectorAll(".scripted").forEach((hint) => { hint.hidden = false; });

  for (const svg of document.querySelectorAll("figure svg")) {
    const whole = svg.getAttribute("viewBox");
    const add = (tag, name) => {
      const element = document.createElementNS(svg.namespaceURI, tag);
      element.setAttribute("class", name);
      svg.append(element);
      return element;
    };
    const cross = add("path", "crosshair");
    const frame = add("rect", "zoom");
    const pinned = document.createElement("p");
    pinned.className = "pinned";
    pinned.hidden = true;
    svg.closest("figure").append(pinned);
    let marks = null;
    let from = null;
    let hasZoomed = false;

    // Whatever has figures in words; the browser's own slow hint of them goes.
    const all = () => {
      marks ??= [...svg.querySelectorAll("title")].map((title) => {
        const { x, y, width, height } = title.parentNode.getBBox();
        const words = title.textContent;
        title.remove();
        return { x, y, width, height, words };
      });
      return marks;
    };
    const at = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    // The mark under the pointer, or the nearest; of several the smallest.
    const nearest = (point) => {
      let best = null;
      let least = 24;
      for (const mark of all()) {
        const off = Math.hypot(
          Math.max(mark.x - point.x, 0, point.x - mark.x - mark.width),
          Math.max(mark.y - point.y, 0, point.y - mark.y - mark.height),
        ) + Math.min(mark.width * mark.height, 1e6) / 1e5;
        if (mark.words && off < least) [best, least] = [mark, off];
      }
      return best;
    };
    const leave = () => {
      tip.hidden = true;
      cross.removeAttribute("d");
    };
    const show = (event, point) => {
      const mark = nearest(point);
      if (!mark) return leave();
      const isSmall = mark.width < 40 && mark.height < 40;
      const x = mark.width < 40 ? mark.x + mark.width / 2 : point.x;
      const [, , width, height] = whole.split(" ").map(Number);
      cross.setAttribute("d", `M${x} 0V${height}` + (isSmall ? `M0 ${mark.y + mark.height / 2}H${width}` : ""));
      tip.textContent = mark.words;
      tip.hidden = false;
      const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
      tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, room))}px`;
      const below = event.clientY + 18 + tip.offsetHeight < window.innerHeight;
      tip.style.top = `${below ? event.clientY + 18 : Math.max(4, event.clientY - tip.offsetHeight - 10)}px`;
    };
    const dragged = (point) => ({
      x: Math.min(from.x, point.x), y: Math.min(from.y, point.y),
      width: Math.abs(from.x - point.x), height: Math.abs(from.y - point.y),
    });
    const isDrag = (area) => area.width > 12 && area.height > 12;

    svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "mouse" && event.button === 0) from = at(event);
    });
    svg.addEventListener("pointermove", (event) => {
      const point = at(event);
      show(event, point);
      if (from) for (const [name, value] of Object.entries(dragged(point))) frame.setAttribute(name, value);
    });
    svg.addEventListener("pointerup", (event) => {
      const area = from && dragged(at(event));
      from = null;
      for (const name of ["width", "height"]) frame.setAttribute(name, 0);
      hasZoomed = area && isDrag(area);
      if (!hasZoomed) return;
      svg.style.height = `${svg.getBoundingClientRect().height}px`;
      svg.setAttribute("viewBox", `${area.x} ${area.y} ${area.width} ${area.height}`);
      // Marks and texts keep their size.
      const [, , width, height] = whole.split(" ").map(Number);
      svg.style.setProperty("--keep", Math.max(area.width / width, area.height / height));
      svg.classList.add("zoomed");
      leave();
    });
    svg.addEventListener("dblclick", () => {
      svg.setAttribute("viewBox", whole);
      svg.style.height = "";
      svg.classList.remove("zoomed");
    });
    svg.addEventListener("click", (event) => {
      if (hasZoomed) return;
      const mark = nearest(at(event));
      pinned.hidden = !mark;
      pinned.textContent = mark ? mark.words : "";
    });
    svg.addEventListener("pointerleave", () => {
      from = null;
      for (const name of ["width", "height"]) frame.setAttribute(name, 0);
      leave();
    });
  }
})();
