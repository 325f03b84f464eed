import * as z from 'zod'

/** A model server on this machine, and what it serves. */
export interface LocalServer {
  name: string
  base_url: string
  /** As orders name them: `provider/model`. */
  models: string[]
}

/** Where such servers listen unless told otherwise, and what orders call them. */
const KNOWN = [
  { name: 'Ollama', vendor: 'ollama', port: 11_434 },
  { name: 'LM Studio', vendor: 'lm_studio', port: 1_234 },
  { name: 'llama.cpp', vendor: 'openai', port: 8_080 },
  { name: 'vLLM', vendor: 'hosted_vllm', port: 8_000 },
  { name: 'LiteLLM', vendor: 'litellm_proxy', port: 4_000 },
] as const

/** On loopback whoever is there answers at once. */
const PATIENCE_MS = 500
/** What a list of models may be long: anything may listen on such a port. */
const LIST_CHARACTERS = 1_000_000
const LISTED = 200

const List = z.object({ data: z.array(z.object({ id: z.string().min(1) })) })

/** Looks for model servers on this machine. Whoever else listens there is asked nothing but for a list of models. */
export async function findLocalServers(fetch: typeof globalThis.fetch): Promise<LocalServer[]> {
  const found = await Promise.all(KNOWN.map(known => look(fetch, known).catch(() => undefined)))
  return found.filter(server => server !== undefined)
}

async function look(
  fetch: typeof globalThis.fetch,
  { name, vendor, port }: (typeof KNOWN)[number],
): Promise<LocalServer | undefined> {
  const base_url = `http://127.0.0.1:${port}/v1`
  const answer = await fetch(`${base_url}/models`, { signal: AbortSignal.timeout(PATIENCE_MS), redirect: 'error' })
  const text = answer.ok ? await answer.text() : ''
  if (text.length > LIST_CHARACTERS) return undefined
  const list = List.safeParse(JSON.parse(text)).data
  if (!list || list.data.length === 0) return undefined
  return { name, base_url, models: list.data.slice(0, LISTED).map(({ id }) => `${vendor}/${id}`) }
}
