import type { LLM } from '../../api/llm.ts'
import { ModelError } from '../model.ts'
import { reasons } from './abilities.ts'

/** The library that speaks a provider's protocol. */
export type Sdk = 'openai' | 'compatible' | 'anthropic' | 'google' | 'mistral' | 'azure' | 'bedrock'

/** Who is meant by a name. */
export interface Named {
  sdk: Sdk
  /** As the provider calls the model. */
  id: string
  baseUrl: string
  /** OpenAI's responses protocol instead of chat completions. */
  responses: boolean
  /** The part of the name before the first slash, or what was guessed for it. */
  vendor: string
}

const OPENAI = 'https://api.openai.com/v1'

/** Those with a protocol of their own. */
const OWN: Record<string, { sdk: Sdk; baseUrl: string }> = {
  anthropic: { sdk: 'anthropic', baseUrl: 'https://api.anthropic.com/v1' },
  gemini: { sdk: 'google', baseUrl: 'https://generativelanguage.googleapis.com/v1beta' },
  google: { sdk: 'google', baseUrl: 'https://generativelanguage.googleapis.com/v1beta' },
  mistral: { sdk: 'mistral', baseUrl: 'https://api.mistral.ai/v1' },
}

/** Those that speak as OpenAI does. Without an address here, the order has to bring one. */
const COMPATIBLE: Record<string, string | undefined> = {
  cerebras: 'https://api.cerebras.ai/v1',
  dashscope: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
  deepinfra: 'https://api.deepinfra.com/v1/openai',
  deepseek: 'https://api.deepseek.com',
  fireworks_ai: 'https://api.fireworks.ai/inference/v1',
  groq: 'https://api.groq.com/openai/v1',
  hosted_vllm: undefined,
  huggingface: 'https://router.huggingface.co/v1',
  litellm_proxy: undefined,
  lm_studio: 'http://localhost:1234/v1',
  minimax: 'https://api.minimax.io/v1',
  moonshot: 'https://api.moonshot.ai/v1',
  nvidia_nim: 'https://integrate.api.nvidia.com/v1',
  ollama: 'http://localhost:11434/v1',
  ollama_chat: 'http://localhost:11434/v1',
  openai_like: undefined,
  openhands: 'https://llm-proxy.app.all-hands.dev',
  openrouter: 'https://openrouter.ai/api/v1',
  perplexity: 'https://api.perplexity.ai',
  sambanova: 'https://api.sambanova.ai/v1',
  together_ai: 'https://api.together.xyz/v1',
  vllm: undefined,
  xai: 'https://api.x.ai/v1',
  zai: 'https://api.z.ai/api/paas/v4',
}

/** Known by name, and not served: with what they would need. */
const REFUSED: Record<string, string> = {
  vertex_ai: 'the credentials of a Google Cloud project; gemini/… with an API key reaches the same models',
  vertex_ai_beta: 'the credentials of a Google Cloud project; gemini/… with an API key reaches the same models',
  azure_ai: 'a protocol of its own; openai/… with a base_url reaches its OpenAI-compatible endpoint',
  sagemaker: 'a protocol of its own; bedrock/… is served',
  watsonx: 'a protocol of its own; litellm_proxy/… with a base_url reaches it through a proxy',
  github_copilot: 'a sign-in of its own',
  chatgpt: 'a subscription; openai/… with an API key reaches the same models',
}

const refuse = (message: string): never => {
  throw new ModelError('LLMBadRequestError', message)
}

/** Reads a name as `provider/model`. Throws a ModelError where it names nobody that can be asked. */
export function understand(llm: LLM): Named {
  const { vendor, id } = split(llm)
  const found = find(vendor, id, llm)
  const url = URL.parse(found.baseUrl)
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search)
    refuse('base_url cannot be honoured: it is an http or https address, without a user name or a query')
  return { ...found, vendor, responses: speaksResponses(found, llm) }
}

function split({ model, base_url }: LLM): { vendor: string; id: string } {
  const slash = model.indexOf('/')
  const vendor = model.slice(0, Math.max(0, slash))
  const id = model.slice(slash + 1)
  if (id === '') return refuse(`The model name ${JSON.stringify(model)} names no model: write provider/model`)
  if (vendor === '') return { vendor: guess(id), id }
  const known = vendor in OWN || vendor in COMPATIBLE || ['openai', 'azure', 'bedrock'].includes(vendor)
  if (known) return { vendor, id }
  const need = REFUSED[vendor]
  if (need) return refuse(`The provider ${vendor} is not served: it needs ${need}`)
  // A name with a slash of its own, as open models have them, on somebody's server.
  if (base_url) return { vendor: 'openai', id: model }
  const names = ['openai', 'azure', 'bedrock', ...Object.keys(OWN), ...Object.keys(COMPATIBLE)].sort()
  return refuse(
    `Nobody is known as ${vendor}: set base_url for an OpenAI-compatible server, or use ${names.join(', ')}`,
  )
}

const guess = (id: string) => (/^claude/i.test(id) ? 'anthropic' : /^gemini/i.test(id) ? 'gemini' : 'openai')

function find(vendor: string, id: string, llm: LLM): Pick<Named, 'sdk' | 'id' | 'baseUrl'> {
  const given = llm.base_url?.trim().replace(/\/+$/, '') || undefined
  const own = OWN[vendor]
  if (own) return { sdk: own.sdk, id, baseUrl: given ? withVersion(given, own) : own.baseUrl }
  if (vendor === 'bedrock') return bedrock(id, given, llm)
  if (vendor === 'azure') {
    if (!given) return refuse('azure/… needs base_url: https://<resource>.openai.azure.com')
    return { sdk: 'azure', id, baseUrl: /\/openai(\/|$)/.test(given) ? given : `${given}/openai` }
  }
  if (vendor === 'openai') {
    const official = given === undefined || /^https:\/\/api\.openai\.com(\/v1)?$/.test(given)
    return official ? { sdk: 'openai', id, baseUrl: OPENAI } : { sdk: 'compatible', id, baseUrl: given }
  }
  const local = vendor.startsWith('ollama') ? (given ?? llm.ollama_base_url?.replace(/\/+$/, '')) : undefined
  const baseUrl = local ? rooted(local, '/v1') : (given ?? COMPATIBLE[vendor])
  if (!baseUrl) return refuse(`${vendor}/… needs base_url: the address of the server, up to and including /v1`)
  return { sdk: 'compatible', id, baseUrl }
}

/** People give these providers' addresses with and without the version. */
function withVersion(given: string, { sdk, baseUrl }: { sdk: Sdk; baseUrl: string }): string {
  const version = new URL(baseUrl).pathname
  if (sdk === 'anthropic') return /\/v\d+$/.test(given) ? given : `${given.replace(/\/v1\/messages$/, '')}${version}`
  return rooted(given, version)
}

const rooted = (url: string, path: string) => (/^[a-z]+:\/\/[^/]+$/i.test(url) ? url + path : url)

function bedrock(id: string, given: string | undefined, llm: LLM): Pick<Named, 'sdk' | 'id' | 'baseUrl'> {
  const endpoint = llm.aws_bedrock_runtime_endpoint?.replace(/\/+$/, '') || given
  if (!endpoint && !llm.aws_region_name) return refuse('bedrock/… needs aws_region_name, such as us-east-1')
  return {
    sdk: 'bedrock',
    id: id.replace(/^converse\//, ''),
    baseUrl: endpoint ?? `https://bedrock-runtime.${llm.aws_region_name}.amazonaws.com`,
  }
}

function speaksResponses({ sdk, id }: Pick<Named, 'sdk' | 'id'>, llm: LLM): boolean {
  const can = sdk === 'openai' || sdk === 'compatible' || sdk === 'azure'
  if (llm.api_mode === 'responses' && !can) refuse(`api_mode "responses" is not something ${llm.model} has`)
  if (llm.api_mode !== 'auto') return llm.api_mode === 'responses'
  const said = llm.capability_overrides.supports_responses_api
  if (said !== undefined) return can && said === true
  return sdk === 'openai' && reasons(llm.model_canonical_name ?? id)
}
