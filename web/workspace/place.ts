import type { Client } from '../../client/index.ts'
import type { SandboxStatus } from '../../src/api/sandboxes.ts'
import { type Apis, BASE, sandboxBase } from '../api.ts'
import { t } from '../words.ts'

/** What a look around may take. In seconds. */
const TIMEOUT = 30
/** The sandbox of conversations that named none: it is reached without a path of its own, and made when it is first used. */
export const SHARED = 'default'

/** Where the hands of a conversation are. */
export interface Place {
  /** The id of the conversation. */
  conversation: string
  sandbox: string
  /** As it was when somebody last looked. */
  status: SandboxStatus
  /** Below it is what acts in this sandbox: for links and uploads. */
  base: string
  /** Calls that act in this sandbox. */
  api: Client
  /** The working directory, absolute. */
  root: string
}

export async function findPlace(
  { api, inSandbox }: Pick<Apis, 'api' | 'inSandbox'>,
  { id, folder }: { id: string; folder: string },
  signal: AbortSignal,
): Promise<Place> {
  const found = await api.getAppConversations({ query: { ids: [id] }, signal })
  const known = Array.isArray(found) ? found[0] : undefined
  const { sandbox_id: sandbox, sandbox_status: status } = known ?? { sandbox_id: SHARED, sandbox_status: 'PAUSED' }
  const base = sandbox === SHARED ? BASE : sandboxBase(sandbox)
  const scoped = sandbox === SHARED ? api : inSandbox(sandbox)
  const root = folder.startsWith('/') ? folder : `${(await run(scoped, 'pwd', signal)).trim()}/${folder}`
  return { conversation: id, sandbox, status, base, api: scoped, root: root.replace(/(?<=.)\/+$/, '') }
}

/** What a command in the sandbox prints. */
export async function run(api: Client, command: string, signal?: AbortSignal): Promise<string> {
  const { exit_code, stdout, stderr } = await api.executeBashCommand({
    body: { command, timeout: TIMEOUT },
    ...(signal && { signal }),
  })
  if (exit_code !== 0)
    throw new Error(stderr?.trim() || t('A command in the sandbox ended with {code}', { code: exit_code ?? -1 }))
  return stdout ?? ''
}

/** One word for a shell, whatever is in it. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const query = (values: Record<string, string>): string => new URLSearchParams(values).toString()

export const fileHref = ({ base }: Place, path: string): string => `${base}/api/file/download?${query({ path })}`

/** The file as a page of its own that can do nothing to this one; undefined for what is not below the working directory. */
export function pageHref({ conversation, root }: Place, path: string): string | undefined {
  if (!path.startsWith(`${root}/`)) return undefined
  const steps = path.slice(root.length + 1).split('/')
  return `${BASE}/api/conversations/${conversation}/workspace/${steps.map(encodeURIComponent).join('/')}`
}

/** A folder without what is made again from other things, or what was changed in it since it was fetched. */
export const archiveHref = ({ base }: Place, path: string, format: 'tar.gz' | 'git-delta'): string =>
  `${base}/api/file/archive?${query({ path, format })}`

/** A path as people read it: from the working directory. */
export function shown({ root }: Place, path: string): string {
  if (path === root) return root.split('/').at(-1) || '/'
  return path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path
}
