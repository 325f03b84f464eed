import { type Client, ClientError, createClient } from '../client/index.ts'
import { explain, UNREACHABLE } from './explain.ts'
import { t } from './words.ts'

/** Calls are relative to the page, so that it works behind a path prefix too. */
export const BASE = new URL('.', location.href).href.replace(/\/$/, '')

/** Below it is what acts in a sandbox. */
export const sandboxBase = (id: string): string => `${BASE}/sandboxes/${id}`

export type Api = Client

export interface Apis {
  /** Asks the person for the key when the server wants one, then tries once more. */
  api: Api
  /** The same, for calls that act in a sandbox. */
  inSandbox(id: string): Api
  /** For what happens in the background: nobody is asked for anything. */
  quiet: Api
}

export function apis(askForKey: () => Promise<boolean>): Apis {
  const patient: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    return (await wantsKey(response)) && (await askForKey()) ? fetch(input, init) : response
  }
  return {
    api: createClient({ baseUrl: BASE, fetch: patient }),
    inSandbox: id => createClient({ baseUrl: sandboxBase(id), fetch: patient }),
    quiet: createClient({ baseUrl: BASE, fetch: (input, init) => fetch(input, init) }),
  }
}

async function wantsKey(response: Response): Promise<boolean> {
  if (response.status !== 401) return false
  const body = await response
    .clone()
    .json()
    .catch(() => undefined)
  return isOurs(response.status, body)
}

/** Others say 401 too, through us: a git provider of its token, for instance. */
function isOurs(status: number, body: unknown): boolean {
  const code = (body as { code?: unknown } | null | undefined)?.code
  return status === 401 && (code === undefined || code === 'unauthorized')
}

export const statusOf = (error: unknown): number | undefined =>
  error instanceof ClientError ? error.status : undefined

/** What went wrong, for the person who tried. */
export function wordsOf(error: unknown): string {
  if (error instanceof ClientError)
    return isOurs(error.status, error.body)
      ? t('The server wants its session key for this.')
      : explain(error.status, error.body)
  if (error instanceof TypeError && /fetch|network/i.test(error.message)) return UNREACHABLE
  return error instanceof Error ? error.message : String(error)
}
