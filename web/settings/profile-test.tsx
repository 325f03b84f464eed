import type { Api } from '../api.ts'
import { t } from '../words.ts'

export type Llm = Record<string, unknown>
export type Tested = Awaited<ReturnType<Api['validateProfile']>>

/** A model as it is stored, its secrets as tokens that only the server can read: sent back, they keep them. */
export async function storedLlm(api: Api, name: string, signal?: AbortSignal): Promise<Llm> {
  const headers = { 'x-expose-secrets': 'encrypted' }
  return (await api.getProfile({ params: { name }, headers, ...(signal && { signal }) })).config
}

export const testLlm = (api: Api, name: string, llm: Llm): Promise<Tested> =>
  api.validateProfile({ params: { name }, body: { llm } })

export const testStored = async (api: Api, name: string): Promise<Tested> =>
  testLlm(api, name, await storedLlm(api, name))

export const Verdict = ({ tested }: { tested: Tested | undefined }) => (
  <div role="status">
    {tested && (
      <p class="settings-state" data-kind={tested.valid ? 'good' : 'bad'}>
        {tested.valid
          ? t('It works: the model can be asked.')
          : t('It does not work. {why}', { why: tested.error?.message ?? '' })}
      </p>
    )}
  </div>
)
