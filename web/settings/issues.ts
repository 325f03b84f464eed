import { ClientError } from '../../client/index.ts'

/** One complaint of the server, at a place such as `agent_settings.condenser.max_size`. */
export interface Issue {
  path: string
  message: string
}

/** The places that a refusal names; none for a refusal that is about the whole. */
export function issuesOf(error: unknown): Issue[] {
  const detail = error instanceof ClientError ? (error.body as { detail?: unknown } | null)?.detail : undefined
  if (Array.isArray(detail))
    return detail
      .map(({ loc = [], msg = '' }: { loc?: (string | number)[]; msg?: string }) => ({
        path: loc.slice(1).join('.'),
        message: msg,
      }))
      .filter(({ path }) => path !== '')
  const [, path, message] = /^Settings validation failed: ([\w.]+): (.+)$/s.exec(String(detail)) ?? []
  return path && message ? [{ path, message }] : []
}

/** A body calls a field by the end of its path at least. */
export const isAbout = (issue: Issue, key: string): boolean =>
  issue.path === key || issue.path.endsWith(`.${key}`) || key.endsWith(`.${issue.path}`)
