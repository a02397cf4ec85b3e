//! The least value of a function of two numbers.

/// Most steps of the search. Each shrinks the triangle by a third or so, and a hundred leave nothing of it.
const STEPS: usize = 200;

/// Finds where `cost` is least, by the simplex method of Nelder and Mead. The method (*The Computer Journal* 7, 1965,
/// 308–313) has their coefficients 1, 2, ½, ½, and begins with a triangle at `start` with sides `step`. An infinite
/// cost is a wall.
pub(super) fn least(start: [f64; 2], step: [f64; 2], cost: impl Fn([f64; 2]) -> f64) -> [f64; 2] {
    let at = |point: [f64; 2]| (cost(point), point);
    let [x, y] = start;
    let mut triangle = [at(start), at([x + step[0], y]), at([x, y + step[1]])];
    for _ in 0..STEPS {
        triangle.sort_by(|one, other| one.0.total_cmp(&other.0));
        let [best, middle, worst] = triangle;
        if (worst.0 - best.0).abs() <= 1e-10 * best.0.abs() {
            break;
        }
        let centre = along(best.1, middle.1, 0.5);
        let reflected = at(along(worst.1, centre, 2.0));
        let next = if reflected.0 < best.0 {
            let expanded = at(along(worst.1, centre, 3.0));
            if expanded.0 < reflected.0 { expanded } else { reflected }
        } else if reflected.0 < middle.0 {
            reflected
        } else {
            let nearer = if reflected.0 < worst.0 { reflected.1 } else { worst.1 };
            at(along(nearer, centre, 0.5))
        };
        triangle = if next.0 < worst.0 {
            [best, middle, next]
        } else {
            [best, at(along(best.1, middle.1, 0.5)), at(along(best.1, worst.1, 0.5))]
        };
    }
    triangle.sort_by(|one, other| one.0.total_cmp(&other.0));
    triangle[0].1
}

/// Returns the point that is `share` of the way from `from` to `to`. It lies on the line between them.
fn along(from: [f64; 2], to: [f64; 2], share: f64) -> [f64; 2] {
    [from[0] + share * (to[0] - from[0]), from[1] + share * (to[1] - from[1])]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curved_valley_is_followed_to_its_end() {
        // Rosenbrock's function, least at (1, 1), from his own starting point.
        let found = least([-1.2, 1.0], [0.5, 0.5], |[x, y]| (1.0 - x).powi(2) + 100.0 * (y - x * x).powi(2));
        assert!(found.iter().all(|x| (x - 1.0).abs() < 1e-3), "{found:?}");
        let walled = least([3.0, 3.0], [1.0, 1.0], |[x, y]| if x < 1.0 { f64::INFINITY } else { x * x + y * y });
        assert!((walled[0] - 1.0).abs() < 1e-2 && walled[1].abs() < 1e-2, "{walled:?}");
    }
}
