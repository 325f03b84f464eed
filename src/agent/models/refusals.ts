import type { LLM } from '../../api/llm.ts'
import { ModelError } from '../model.ts'
import type { Named } from './names.ts'

/** Throws a ModelError that names what the order asks for and cannot be had: nothing asked for is silently left undone. */
export function refuseWhatCannotBe(llm: LLM, { sdk, vendor }: Named): void {
  const refuse = (field: keyof LLM, why: string) => {
    throw new ModelError('LLMBadRequestError', `${field} cannot be honoured: ${why}`)
  }
  if (llm.auth_type === 'subscription') refuse('auth_type', 'subscriptions are not served; use an API key')
  if (llm.provider_connection_id && !llm.api_key)
    refuse('provider_connection_id', 'there is no such provider connection; name another, or set api_key')
  if (!llm.native_tool_calling) refuse('native_tool_calling', 'tools are only called natively')
  if (llm.log_completions) refuse('log_completions', 'completions are not written to the disk of the server')
  if (llm.fallback_strategy) refuse('fallback_strategy', 'a conversation has one model at a time')
  if (llm.inline_image_urls) refuse('inline_image_urls', 'images are not fetched for a model; send them as data URLs')
  if (llm.prompt_cache_retention && !['in_memory', '24h'].includes(llm.prompt_cache_retention))
    refuse('prompt_cache_retention', 'it is "in_memory", "24h" or null')
  for (const field of ['aws_profile_name', 'aws_role_name', 'aws_session_name'] as const)
    if (sdk === 'bedrock' && llm[field]) refuse(field, 'give aws_access_key_id and aws_secret_access_key, or api_key')
  if (sdk === 'bedrock' && !llm.api_key && !(llm.aws_access_key_id && llm.aws_secret_access_key))
    needKey('aws_access_key_id and aws_secret_access_key, or api_key,', llm)
  const open = sdk === 'compatible' && (llm.base_url || LOCAL.has(vendor))
  if (sdk !== 'bedrock' && !open && !llm.api_key) needKey('api_key', llm)
}

const LOCAL = new Set(['ollama', 'ollama_chat', 'lm_studio'])

function needKey(what: string, llm: LLM): never {
  throw new ModelError('LLMAuthenticationError', `No ${what} is set for ${llm.model}: add it in the settings`)
}
