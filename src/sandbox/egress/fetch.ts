import { checkUrl, guarded } from './guard.ts'

type Fetch = typeof globalThis.fetch

/**
 * Calls what a person named, but never where the machine's own credentials are given out: every connection, that of a redirect too, is made
 * to an address that was looked at. Whoever calls keeps the time.
 */
export function guardedFetch(): { fetch: Fetch; close(): Promise<void> } {
  let opening: ReturnType<typeof open> | undefined
  return {
    fetch: async (input, init) => {
      opening ??= open()
      const { fetch, agent } = await opening
      return fetch(input, { ...init, dispatcher: agent })
    },
    close: async () => (await opening)?.agent.destroy(),
  }
}

/** Loaded with the first call: most of a server's life begins without one. */
async function open() {
  const { Agent, buildConnector, fetch } = await import('undici')
  const connect = buildConnector({ lookup: guarded() })
  const agent = new Agent({
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (options, callback) => {
      try {
        checkUrl(`http://${options.hostname}`)
      } catch (error) {
        callback(error as Error, null)
        return
      }
      connect(options, callback)
    },
  })
  type Call = (input: Parameters<Fetch>[0], init: object) => ReturnType<Fetch>
  return { agent, fetch: fetch as unknown as Call }
}
