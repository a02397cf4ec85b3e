//! Robust least squares without negative costs.

/// Iterations of the reweighting, which converges in a few.
const TURNS: usize = 8;
/// Huber's constant. Residuals beyond so many standard deviations count by their size, not by its square.
const HUBER: f64 = 1.345;
/// Standard deviation of a normal ÷ its median absolute deviation.
const MAD: f64 = 1.482_6;
/// A column whose independent part is a smaller share of it than this is redundant.
const INDEPENDENT: f64 = 1e-9;

/// One equation: what each unknown is multiplied with, and their sum.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Equation {
    pub(super) factors: Vec<f64>,
    pub(super) sum: f64,
}

/// Returns the unknowns that meet `equations` best, each 0 or more. It is `None` in place of one that no equation has.
///
/// Each equation counts by its relative error, and large errors count less: iteratively reweighted least squares with
/// Huber's weights (Huber, *Robust Estimation of a Location Parameter*, Annals of Mathematical Statistics 35, 1964).
/// What would be negative is held at 0, the most negative first.
pub(super) fn solve(equations: &[Equation], unknowns: usize) -> Vec<Option<f64>> {
    let scaled: Vec<Equation> = equations
        .iter()
        .filter(|equation| equation.sum > 0.0)
        .map(|Equation { factors, sum }| Equation {
            factors: factors.iter().map(|factor| factor / sum).collect(),
            sum: 1.0,
        })
        .collect();
    let mut weights = vec![1.0; scaled.len()];
    let mut found = vec![None; unknowns];
    for _ in 0..TURNS {
        found = not_negative(&scaled, &weights, unknowns);
        let errors: Vec<f64> = scaled.iter().map(|equation| error(equation, &found)).collect();
        let mut sizes: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
        sizes.sort_unstable_by(f64::total_cmp);
        let deviation = MAD * sizes.get(sizes.len() / 2).copied().unwrap_or(0.0);
        if deviation <= f64::EPSILON {
            break;
        }
        weights = errors.iter().map(|error| (HUBER * deviation / error.abs()).min(1.0)).collect();
    }
    found
}

fn error(equation: &Equation, found: &[Option<f64>]) -> f64 {
    let predicted: f64 = equation.factors.iter().zip(found).map(|(factor, value)| factor * value.unwrap_or(0.0)).sum();
    predicted - equation.sum
}

fn not_negative(equations: &[Equation], weights: &[f64], unknowns: usize) -> Vec<Option<f64>> {
    let mut free: Vec<usize> = (0..unknowns).collect();
    let mut held: Vec<usize> = Vec::new();
    loop {
        let found = least_squares(equations, weights, &free, unknowns);
        let most_negative = free.iter().copied().filter(|&place| found[place].is_some_and(|value| value < 0.0)).min_by(
            |&one, &other| {
                // By what it takes away from a usual equation.
                let taken = |place: usize| {
                    let usual: f64 = equations.iter().map(|equation| equation.factors[place]).sum();
                    found[place].unwrap_or(0.0) * usual
                };
                taken(one).total_cmp(&taken(other))
            },
        );
        let Some(place) = most_negative else {
            let mut found = found;
            for place in held {
                found[place] = Some(0.0);
            }
            return found;
        };
        free.retain(|&other| other != place);
        held.push(place);
    }
}

/// Solves least squares over the columns of `free` by modified Gram–Schmidt. The source is Golub and Van Loan, *Matrix
/// Computations*, 5.2.8. It is `None` for a column that the others make up.
fn least_squares(equations: &[Equation], weights: &[f64], free: &[usize], unknowns: usize) -> Vec<Option<f64>> {
    let roots: Vec<f64> = weights.iter().map(|weight| libm::sqrt(*weight)).collect();
    let column = |of: &dyn Fn(&Equation) -> f64| -> Vec<f64> {
        equations.iter().zip(&roots).map(|(equation, root)| of(equation) * root).collect()
    };
    let mut rest = column(&|equation| equation.sum);
    // Columns made orthogonal, with the part of each later one that lies along them.
    let mut orthogonal: Vec<(usize, Vec<f64>)> = Vec::new();
    let mut triangle: Vec<Vec<f64>> = Vec::new();
    for &place in free {
        let mut own = column(&|equation| equation.factors[place]);
        let size = dot(&own, &own);
        let mut along = Vec::new();
        for (_, other) in &orthogonal {
            let part = dot(&own, other) / dot(other, other);
            own.iter_mut().zip(other).for_each(|(own, other)| *own -= part * other);
            along.push(part);
        }
        if dot(&own, &own) > INDEPENDENT * size {
            orthogonal.push((place, own));
            triangle.push(along);
        }
    }
    let mut sums: Vec<f64> = Vec::new();
    for (_, own) in &orthogonal {
        let part = dot(&rest, own) / dot(own, own);
        rest.iter_mut().zip(own).for_each(|(rest, own)| *rest -= part * own);
        sums.push(part);
    }
    let mut found = vec![None; unknowns];
    for row in (0..orthogonal.len()).rev() {
        let later: f64 = (row + 1..orthogonal.len())
            .map(|column| triangle[column][row] * found[orthogonal[column].0].unwrap_or(0.0))
            .sum();
        found[orthogonal[row].0] = Some(sums[row] - later);
    }
    found
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn equations(rows: &[(&[f64], f64)]) -> Vec<Equation> {
        rows.iter().map(|(factors, sum)| Equation { factors: factors.to_vec(), sum: *sum }).collect()
    }

    fn assert_close(found: &[Option<f64>], expected: &[f64]) {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found.unwrap() - expected).abs() < 1e-9, "{found:?}, not {expected}");
        }
    }

    #[test]
    fn exact_equations_are_met() {
        let rows = equations(&[
            (&[1.0, 2.0, 0.0], 8.0),
            (&[2.0, 1.0, 5.0], 12.0),
            (&[1.0, 1.0, 1.0], 6.0),
            (&[4.0, 0.0, 1.0], 9.0),
        ]);
        assert_close(&solve(&rows, 3), &[2.0, 3.0, 1.0]);
    }

    /// Compares with numpy 2.4.6 the rows (1, k) with sums 2 + 3 k. The fourth is ten times too long. `lstsq` finds
    /// 21.2 and 1.77. By relative errors, `lstsq(A / y[:, None], ones)`, it finds 2.07 and 3.01.
    #[test]
    fn one_wild_row_moves_little() {
        let mut rows: Vec<Equation> =
            (1..=20).map(|k| Equation { factors: vec![1.0, f64::from(k)], sum: 2.0 + 3.0 * f64::from(k) }).collect();
        rows[3].sum *= 10.0;
        // A little noise, so that there is a scale of residuals.
        rows.iter_mut().enumerate().for_each(|(i, row)| row.sum *= if i % 2 == 0 { 1.001 } else { 0.999 });
        let found = solve(&rows, 2);
        assert!((found[0].unwrap() - 2.0).abs() < 0.1 && (found[1].unwrap() - 3.0).abs() < 0.05, "{found:?}");
    }

    #[test]
    fn negative_costs_are_none_and_unseen_ones_unknown() {
        // sum = 3 a − 0.5 b: without b the best a is near 2.5 to 3.
        let rows = equations(&[(&[1.0, 1.0, 0.0], 2.5), (&[1.0, 0.0, 0.0], 3.0), (&[2.0, 1.0, 0.0], 5.5)]);
        let found = solve(&rows, 3);
        assert!(found[0].unwrap() > 2.4 && found[1] == Some(0.0) && found[2].is_none(), "{found:?}");
    }
}
