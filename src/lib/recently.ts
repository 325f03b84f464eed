/** Asks at most once in a while: whoever comes sooner gets the last answer. */
export function recently<T>(ms: number, ask: () => Promise<T>): () => Promise<T> {
  let last: { at: number; answer: Promise<T> } | undefined
  return () => {
    if (!last || performance.now() - last.at > ms) last = { at: performance.now(), answer: ask() }
    return last.answer
  }
}
