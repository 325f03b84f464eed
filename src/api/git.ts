import * as z from 'zod'

/** Of a branch: longer ones do not fit into a file's name with what git adds. */
const NAME_CHARACTERS = 200

/** What git takes for the name of a branch, and no program for an option. */
export function isBranchName(name: string): boolean {
  const strange = /[\0- \x7f~^:?*[\\]|\.\.|@\{|\/\/|^[-/.]|\/\.|[/.]$|\.lock(\/|$)|^@$|^HEAD$/
  return name.length > 0 && name.length <= NAME_CHARACTERS && !strange.test(name)
}

export const GitChangeStatus = z.enum(['MOVED', 'ADDED', 'DELETED', 'UPDATED']).meta({ id: 'GitChangeStatus' })
export type GitChangeStatus = z.output<typeof GitChangeStatus>

export const GitChange = z
  .object({
    status: GitChangeStatus,
    /** From the folder that was asked about. */
    path: z.string().meta({ format: 'path' }),
  })
  .meta({ id: 'GitChange' })
export type GitChange = z.output<typeof GitChange>

export const GitDiff = z
  .object({
    /** Both sides: empty when it is not there; null when it is no text, or in no repository. */
    modified: z.string().nullable(),
    original: z.string().nullable(),
  })
  .meta({ id: 'GitDiff' })
export type GitDiff = z.output<typeof GitDiff>

export const GitCommit = z
  .object({
    sha: z.string(),
    short_sha: z.string(),
    subject: z.string(),
    author: z.string(),
    timestamp: z.string(),
  })
  .meta({ id: 'GitCommit' })
export type GitCommit = z.output<typeof GitCommit>

export const GitCommitsPage = z
  .object({ commits: z.array(GitCommit), has_more: z.boolean() })
  .meta({ id: 'GitCommitsPage' })
export type GitCommitsPage = z.output<typeof GitCommitsPage>
