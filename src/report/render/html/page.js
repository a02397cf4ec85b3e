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
    const drawnMoments = add("path", "moments");
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
        const { moments, zero } = title.parentNode.dataset;
        title.remove();
        return { x, y, width, height, words, zero: Number(zero), moments: moments?.split(" ") };
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
    // An axis that says how it is scaled: its places as values and back.
    const axis = (words) => {
      if (!words) return null;
      const parts = words.split(" ");
      const [from, to, ...ends] = parts.slice(0, 4).map(Number);
      const isLog = parts[4] === "log";
      const [low, high] = isLog ? ends.map(Math.log) : ends;
      return {
        from, to,
        value: (place) => {
          const value = low + ((place - from) / (to - from)) * (high - low);
          return isLog ? Math.exp(value) : value;
        },
        place: (value) => from + (((isLog ? Math.log(value) : value) - low) / (high - low)) * (to - from),
      };
    };
    // Multiples of 1, 2 or 5 times a power of ten, four to eight of them.
    const round = (low, high) => {
      const power = 10 ** Math.floor(Math.log10((high - low) / 4));
      const step = [1, 2, 5, 10].map((times) => times * power).find((step) => (high - low) / step <= 8);
      const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
      const first = Math.ceil(low / step - 1e-9);
      const count = Math.floor(high / step + 1e-9) - first + 1;
      return Array.from({ length: count }, (_, i) => (first + i) * step).map((at) => [at, at.toFixed(digits)]);
    };
    let labels = [];
    const unlabel = () => { labels.forEach((label) => label.remove()); labels = []; };
    // Ticks along the edges of what is zoomed into.
    const label = (area, keep) => {
      unlabel();
      for (const [name, start, length] of [["x", area.x, area.width], ["y", area.y, area.height]]) {
        const scale = axis(svg.dataset[name]);
        if (!scale) continue;
        const inside = (place) => Math.min(Math.max(place, Math.min(scale.from, scale.to)), Math.max(scale.from, scale.to));
        const ends = [start, start + length].map((place) => scale.value(inside(place)));
        for (const [value, words] of round(Math.min(...ends), Math.max(...ends))) {
          const place = scale.place(value);
          const line = add("path", "grid within");
          line.setAttribute("d", name === "x" ? `M${place} ${area.y}v${area.height}` : `M${area.x} ${place}h${area.width}`);
          const text = add("text", "tick within");
          text.textContent = words;
          text.setAttribute("text-anchor", "middle");
          text.setAttribute("x", name === "x" ? place : area.x + 16 * keep);
          text.setAttribute("y", name === "x" ? area.y + area.height - 4 * keep : place + 4);
          svg.prepend(line);
          labels.push(line, text);
        }
      }
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
      const shown = svg.getBoundingClientRect();
      svg.style.height = `${shown.height}px`;
      // As much more as the shape of the picture shows.
      const wider = Math.max(area.width, (area.height * shown.width) / shown.height) - area.width;
      const higher = Math.max(area.height, (area.width * shown.height) / shown.width) - area.height;
      area.x -= wider / 2; area.width += wider;
      area.y -= higher / 2; area.height += higher;
      svg.setAttribute("viewBox", `${area.x} ${area.y} ${area.width} ${area.height}`);
      // Marks and texts keep their size.
      const [, , width, height] = whole.split(" ").map(Number);
      const keep = Math.max(area.width / width, area.height / height);
      svg.style.setProperty("--keep", keep);
      label(area, keep);
      svg.classList.add("zoomed");
      leave();
    });
    svg.addEventListener("dblclick", () => {
      svg.setAttribute("viewBox", whole);
      svg.style.height = "";
      svg.classList.remove("zoomed");
      unlabel();
    });
    svg.addEventListener("click", (event) => {
      if (hasZoomed) return;
      const mark = nearest(at(event));
      pinned.hidden = !mark;
      pinned.textContent = mark ? mark.words : "";
      drawnMoments.removeAttribute("d");
      if (!mark?.moments) return;
      pinned.textContent += `\nits tokens came, ms after its scheduled moment: ${mark.moments.join(", ")}`;
      const { place } = axis(svg.dataset.x);
      const stroke = (after) => `M${place(mark.zero + after / 1000).toFixed(2)} ${mark.y}v${mark.height}`;
      drawnMoments.setAttribute("d", mark.moments.map(stroke).join(""));
    });
    svg.addEventListener("pointerleave", () => {
      from = null;
      for (const name of ["width", "height"]) frame.setAttribute(name, 0);
      leave();
    });
  }
})();
