/** Resolves with the first truthy answer. Rejects, saying what was awaited, when there is none in time. */
export async function until<T>(what: string, probe: () => T | Promise<T>, ms = 10_000): Promise<NonNullable<T>> {
  const deadline = Date.now() + ms
  for (;;) {
    const answer = await probe()
    if (answer) return answer
    if (Date.now() > deadline) throw new Error(`Waited ${ms} ms in vain until ${what}`)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}
