import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { LLM } from '../../api/llm.ts'
import { isClaude } from './abilities.ts'
import { marksInParts } from './caching.ts'
import type { Fetch } from './line.ts'
import type { Named } from './names.ts'

export type Speak = (fetch: Fetch) => LanguageModelV4

/**
 * The library for a provider, loaded when first asked for: each takes a tenth of a second. Keys and addresses are always
 * given, never left out: where they are, libraries look for them in the environment.
 */
export async function speakerOf(llm: LLM, { sdk, id, baseUrl: baseURL, responses }: Named): Promise<Speak> {
  const apiKey = llm.api_key ?? ''
  if (sdk === 'openai' || (sdk === 'compatible' && responses)) {
    const { createOpenAI } = await import('@ai-sdk/openai')
    return fetch => {
      const openai = createOpenAI({ apiKey, baseURL, fetch, organization: '', project: '' })
      return responses ? openai.responses(id) : openai.chat(id)
    }
  }
  switch (sdk) {
    case 'compatible': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      const transformRequestBody = isClaude(id) ? marksInParts : undefined
      return fetch =>
        createOpenAICompatible({
          name: 'compatible',
          baseURL,
          fetch,
          includeUsage: true,
          ...(apiKey && { apiKey }),
          ...(transformRequestBody && { transformRequestBody }),
        }).chatModel(id)
    }
    case 'anthropic': {
      const { createAnthropic } = await import('@ai-sdk/anthropic')
      return fetch => createAnthropic({ apiKey, baseURL, fetch }).languageModel(id)
    }
    case 'google': {
      const { createGoogle } = await import('@ai-sdk/google')
      return fetch => createGoogle({ apiKey, baseURL, fetch }).languageModel(id)
    }
    case 'mistral': {
      const { createMistral } = await import('@ai-sdk/mistral')
      return fetch => createMistral({ apiKey, baseURL, fetch }).languageModel(id)
    }
    case 'azure': {
      const { createAzure } = await import('@ai-sdk/azure')
      const version = llm.api_version ? { apiVersion: llm.api_version, useDeploymentBasedUrls: true } : {}
      return fetch => {
        const azure = createAzure({ apiKey, baseURL, fetch, ...version })
        return responses ? azure.responses(id) : azure.chat(id)
      }
    }
    case 'bedrock': {
      const { createAmazonBedrock } = await import('@ai-sdk/amazon-bedrock')
      return fetch =>
        createAmazonBedrock({
          apiKey,
          baseURL,
          fetch,
          region: llm.aws_region_name ?? 'us-east-1',
          accessKeyId: llm.aws_access_key_id ?? '',
          secretAccessKey: llm.aws_secret_access_key ?? '',
          ...(llm.aws_session_token && { sessionToken: llm.aws_session_token }),
        }).languageModel(id)
    }
  }
}
