import { LLM } from '../api/llm.ts'

/**
 * Pages let nobody write unless a profile with a key is active. So where the settings name no stored profile, one that nobody
 * stored is listed, and active:
 * - `demo`, the guide that needs no key, as long as the settings name no model of their own
 * - `default`, the model of the settings, once they do
 * A stored profile of the same name hides it.
 */
export const DEMO = 'demo'
export const DEFAULT = 'default'

/** Built in, and free. */
export const DEMO_MODEL = 'demo/guide'

export const demoLlm = (): LLM => LLM.parse({ model: DEMO_MODEL })

/** Servers that people run for themselves ask for none, unless told to. */
const KEYLESS = /^(demo|ollama|ollama_chat|lm_studio)\//
const LOOPBACK = /^https?:\/\/(localhost|127\.\d+\.\d+\.\d+|\[::1\])[:/]/

/** Whether it can be asked: pages let nobody write before. */
export const hasKey = ({ model, api_key, provider_connection_id, base_url }: LLM): boolean =>
  !!api_key || !!provider_connection_id || KEYLESS.test(model) || LOOPBACK.test(`${base_url ?? ''}/`)

/** Whether the settings name a model, or know how to reach the one they would take. */
export const isChosen = ({ model, api_key, provider_connection_id, base_url }: LLM): boolean =>
  model !== DEMO_MODEL && (model !== LLM.parse({}).model || !!api_key || !!provider_connection_id || !!base_url)

/** Of what is there without being stored, what goes by this name. */
export function builtIn(name: string, ofSettings: LLM): LLM | undefined {
  if (name === DEMO) return demoLlm()
  return name === DEFAULT && isChosen(ofSettings) ? ofSettings : undefined
}
