import * as z from 'zod'
import { orNull } from '../common.ts'
import { GitChange, GitCommitsPage, GitDiff } from '../git.ts'
import { route } from '../route.ts'

const tag = 'Git'
const sha = z.string().regex(/^[0-9a-fA-F]{4,64}$/)
/** Absolute, or from the working directory. */
const path = z.string()
const ref = orNull(z.string())
const errors = ['git_failed', 'sandbox_unavailable', 'sandbox_failed'] as const

export const gitRoutes = {
  gitChanges: route({
    method: 'GET',
    path: '/api/git/changes',
    tag,
    summary: 'What differs between a folder and a revision: its upstream, the remote default branch, or nothing at all',
    access: 'caller',
    confined: true,
    query: z.object({ path, ref }),
    responses: { 200: z.array(GitChange) },
    errors,
  }),
  gitDiff: route({
    method: 'GET',
    path: '/api/git/diff',
    tag,
    summary: 'A file as it is and as it was in a revision, or after and before a commit',
    access: 'caller',
    confined: true,
    query: z.object({ path, ref, commit: orNull(sha) }),
    responses: { 200: GitDiff },
    errors: ['bad_request', ...errors],
  }),
  gitCommits: route({
    method: 'GET',
    path: '/api/git/commits',
    tag,
    summary: 'The history of a repository, newest first',
    access: 'caller',
    confined: true,
    query: z.object({ path, limit: z.int().min(1).max(200).default(50) }),
    responses: { 200: GitCommitsPage },
    errors,
  }),
  gitCommitChanges: route({
    method: 'GET',
    path: '/api/git/commits/{sha}/changes',
    tag,
    summary: 'What a commit changed, against its first parent',
    access: 'caller',
    confined: true,
    params: z.object({ sha }),
    query: z.object({ path }),
    responses: { 200: z.array(GitChange) },
    errors,
  }),
}
