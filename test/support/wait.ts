/** Resolves with the first truthy answer. Rejects, saying what was awaited, when there is none in time. */
export async function until<T>(what: string, probe: () => T | Promise<T>, ms = 10_000): Promise<NonNullable<T>> {
  const began = Date.now()
  for (;;) {
    const answer = await probe()
    if (answer) return answer
    const waited = Date.now() - began
    if (waited > ms) throw new Error(`Waited ${ms} ms in vain until ${what}`)
    // What takes long is not asked after as often: the asking would slow it down.
    await new Promise(resolve => setTimeout(resolve, Math.min(Math.max(5, waited / 10), 100)))
  }
}
