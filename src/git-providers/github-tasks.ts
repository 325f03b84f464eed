import * as z from 'zod'
import type { SuggestedTask } from '../api/git-providers.ts'
import type { Api } from './api.ts'
import { TASKS } from './limits.ts'
import { pullRequestTask } from './tasks.ts'

const QUERY = `query($limit: Int!) {
  viewer {
    pullRequests(first: $limit, states: OPEN, orderBy: { field: UPDATED_AT, direction: DESC }) {
      nodes {
        number title mergeable
        repository { nameWithOwner }
        commits(last: 1) { nodes { commit { statusCheckRollup { state } } } }
        reviewThreads(first: 50) { nodes { isResolved } }
      }
    }
  }
  search(query: "is:issue is:open assignee:@me", type: ISSUE, first: $limit) {
    nodes { ... on Issue { number title repository { nameWithOwner } } }
  }
}`

const Issue = z.object({
  number: z.int(),
  title: z.string(),
  repository: z.object({ nameWithOwner: z.string() }),
})
const PullRequest = Issue.extend({
  mergeable: z.string(),
  commits: z.object({
    nodes: z.array(z.object({ commit: z.object({ statusCheckRollup: z.object({ state: z.string() }).nullish() }) })),
  }),
  reviewThreads: z.object({ nodes: z.array(z.object({ isResolved: z.boolean() })) }),
})
/** Null stands for what an organisation shows to signed-on members only. */
const visible = <T extends z.ZodType>(node: T) =>
  z.object({ nodes: z.array(node.nullable()).transform(nodes => nodes.filter(one => one !== null)) })
const Work = z.object({
  viewer: z.object({ pullRequests: visible(PullRequest) }),
  search: visible(Issue),
})

/** The user's open pull requests, and the issues they are to work on. */
export async function githubTasks(api: Api, graphql: string): Promise<SuggestedTask[]> {
  const { viewer, search } = await api.graphql(graphql, QUERY, { limit: TASKS }, Work)
  const task = (issue: z.output<typeof Issue>, task_type: SuggestedTask['task_type']): SuggestedTask => ({
    git_provider: 'github',
    task_type,
    repo: issue.repository.nameWithOwner,
    issue_number: issue.number,
    title: issue.title,
  })
  const checks = (pull: z.output<typeof PullRequest>) => pull.commits.nodes[0]?.commit.statusCheckRollup?.state
  return [
    ...viewer.pullRequests.nodes.map(pull =>
      task(
        pull,
        pullRequestTask({
          conflicts: pull.mergeable === 'CONFLICTING',
          failing: checks(pull) === 'FAILURE' || checks(pull) === 'ERROR',
          unresolved: pull.reviewThreads.nodes.some(({ isResolved }) => !isResolved),
        }),
      ),
    ),
    ...search.nodes.map(issue => task(issue, 'OPEN_ISSUE')),
  ]
}
