import type { gitRoutes } from '../../api/routes/git.ts'
import type { Git } from '../../sandbox/git.ts'
import type { Handlers } from '../server.ts'

export const gitHandlers = (git: Git): Handlers<typeof gitRoutes> => ({
  gitChanges: ({ query }, { scope }) => git.changes(scope, query.path, query.ref),
  gitDiff: ({ query }, { scope }) => git.diff(scope, query.path, query),
  gitCommits: ({ query }, { scope }) => git.commits(scope, query.path, query.limit),
  gitCommitChanges: ({ params, query }, { scope }) => git.commitChanges(scope, query.path, params.sha),
})
