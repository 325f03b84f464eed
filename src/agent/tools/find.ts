/**
 * Where `wanted`, which is not empty, begins in `text`, also overlapping. The time is linear whatever is in them (Knuth, Morris and
 * Pratt): `indexOf` takes minutes on repetitive text, and neither text is ours.
 */
export function* find<T>(text: ArrayLike<T>, wanted: ArrayLike<T>, from = 0): Generator<number> {
  const borders = bordersOf(wanted)
  for (let index = from, matched = 0; index < text.length; index += 1) {
    while (matched > 0 && text[index] !== wanted[matched]) matched = borders[matched - 1]!
    if (text[index] === wanted[matched]) matched += 1
    if (matched === wanted.length) {
      yield index + 1 - matched
      matched = borders[matched - 1]!
    }
  }
}

/** For each beginning of it, how much of that is also its end. */
function bordersOf<T>(wanted: ArrayLike<T>): Uint32Array {
  const borders = new Uint32Array(wanted.length)
  for (let index = 1, length = 0; index < wanted.length; index += 1) {
    while (length > 0 && wanted[index] !== wanted[length]) length = borders[length - 1]!
    if (wanted[index] === wanted[length]) length += 1
    borders[index] = length
  }
  return borders
}
