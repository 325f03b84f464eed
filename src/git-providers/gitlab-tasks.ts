import * as z from 'zod'
import type { SuggestedTask } from '../api/git-providers.ts'
import type { Api } from './api.ts'
import { TASKS } from './limits.ts'
import { pullRequestTask } from './tasks.ts'

const QUERY = `query($limit: Int!) {
  currentUser {
    authoredMergeRequests(state: opened, sort: UPDATED_DESC, first: $limit) {
      nodes {
        iid title conflicts
        project { fullPath }
        headPipeline { status }
        resolvableDiscussionsCount resolvedDiscussionsCount
      }
    }
  }
}`

const MergeRequests = z.object({
  currentUser: z.object({
    authoredMergeRequests: z.object({
      nodes: z.array(
        z.object({
          iid: z.string(),
          title: z.string(),
          conflicts: z.boolean(),
          project: z.object({ fullPath: z.string() }),
          headPipeline: z.object({ status: z.string() }).nullish(),
          resolvableDiscussionsCount: z.int().nullish(),
          resolvedDiscussionsCount: z.int().nullish(),
        }),
      ),
    }),
  }),
})
const Issues = z.array(z.object({ iid: z.int(), title: z.string(), references: z.object({ full: z.string() }) }))

/** The user's open merge requests, and the issues they are to work on. */
export async function gitlabTasks(api: Api, graphql: string): Promise<SuggestedTask[]> {
  const mine = { scope: 'assigned_to_me', state: 'opened', per_page: TASKS }
  const [{ currentUser }, issues] = await Promise.all([
    api.graphql(graphql, QUERY, { limit: TASKS }, MergeRequests),
    api.get('/issues', mine, Issues),
  ])
  return [
    ...currentUser.authoredMergeRequests.nodes.map(
      (merge): SuggestedTask => ({
        git_provider: 'gitlab',
        task_type: pullRequestTask({
          conflicts: merge.conflicts,
          failing: merge.headPipeline?.status === 'FAILED',
          unresolved: (merge.resolvableDiscussionsCount ?? 0) > (merge.resolvedDiscussionsCount ?? 0),
        }),
        repo: merge.project.fullPath,
        issue_number: Number(merge.iid),
        title: merge.title,
      }),
    ),
    ...issues.data.map(
      ({ iid, title, references }): SuggestedTask => ({
        git_provider: 'gitlab',
        task_type: 'OPEN_ISSUE',
        repo: references.full.replace(/#\d+$/, ''),
        issue_number: iid,
        title,
      }),
    ),
  ]
}
