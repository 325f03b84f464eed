/** What every provider takes as the name of a tool. */
const STRANGE = /[^A-Za-z0-9_-]/g
const LENGTH = 64

/**
 * Gives the tools of all servers names that a model can call them by: their own, unless another tool has it already; then the
 * server's name stands before it. A name once given stays: what was approved or remembered by it must not come to mean another tool.
 */
export class Names {
  /** By server and tool. */
  readonly #given = new Map<string, string>()
  readonly #taken: Set<string>

  constructor(taken: Iterable<string>) {
    this.#taken = new Set(taken)
  }

  of(server: string, tool: string): string {
    return this.#given.getOrInsertComputed(JSON.stringify([server, tool]), () => {
      const name = this.#free(tool, `${server}_${tool}`)
      this.#taken.add(name)
      return name
    })
  }

  #free(own: string, prefixed: string): string {
    const name = [own, prefixed].map(callable).find(one => one !== '' && !this.#taken.has(one))
    if (name !== undefined) return name
    for (let number = 2; ; number += 1) {
      const numbered = `${callable(prefixed).slice(0, LENGTH - 6)}_${number}`
      if (!this.#taken.has(numbered)) return numbered
    }
  }
}

const callable = (name: string): string => name.replaceAll(STRANGE, '_').slice(0, LENGTH)
