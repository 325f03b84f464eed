import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export type Kind = 'github' | 'gitlab' | 'bitbucket' | 'forgejo'

export const TOKEN = 'tok-S3cr3t-0123456789abcdef'

/** What every fake has: `owner/repo-1` … `owner/repo-5`, of which the last is private, each with these branches. */
export const REPOSITORIES = [1, 2, 3, 4, 5].map(n => `owner/repo-${n}`)
export const BRANCHES = ['main', 'feature/one', 'feature/two', 'fix-three', 'release']
const isPrivate = (name: string) => name.endsWith('5')

interface Asked {
  method: string
  path: string
  query: URLSearchParams
  headers: IncomingHttpHeaders
  // biome-ignore lint/suspicious/noExplicitAny: the body of a query is looked into
  body: any
  url: string
}

interface Reply {
  status?: number
  headers?: Record<string, string>
  body: unknown
}

type Speaks = (asked: Asked) => Reply | undefined

/** A provider on loopback: a real HTTP server with the paths, headers and paging of the real one. */
export class FakeProvider implements AsyncDisposable {
  readonly url: string
  readonly asked: Asked[] = []
  /** Answers instead, while it is set. */
  misbehave: ((request: IncomingMessage, out: ServerResponse) => void) | undefined
  readonly #server: Server

  private constructor(server: Server, kind: Kind) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    server.on('request', async (request: IncomingMessage, out: ServerResponse) => {
      const { pathname, searchParams } = new URL(request.url!, this.url)
      const said = await text(request)
      const { method = 'GET', headers } = request
      const body = said === '' ? undefined : JSON.parse(said)
      const asked = { method, path: pathname, query: searchParams, headers, body, url: this.url }
      this.asked.push(asked)
      if (this.misbehave) return this.misbehave(request, out)
      // The real ones do not repeat it; a proxy before them might.
      const refused: Reply = { status: 401, body: { message: `Bad credentials: ${headers.authorization}` } }
      const reply = headers.authorization === AUTHORIZATION[kind] ? SPEAKS[kind](asked) : refused
      const {
        status = 200,
        headers: own,
        body: answer,
      }: Reply = reply ?? { status: 404, body: { message: 'Not Found' } }
      out.writeHead(status, { 'Content-Type': 'application/json', ...own }).end(JSON.stringify(answer))
    })
  }

  static async start(kind: Kind): Promise<FakeProvider> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new FakeProvider(server, kind)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close().closeAllConnections()
    await closed
  }
}

const AUTHORIZATION: Record<Kind, string> = {
  github: `Bearer ${TOKEN}`,
  gitlab: `Bearer ${TOKEN}`,
  bitbucket: `Bearer ${TOKEN}`,
  forgejo: `token ${TOKEN}`,
}

/** One page of a list, and what comes after it. */
function cut<T>(all: T[], { query }: Asked, size: string): { items: T[]; page: number; more: boolean } {
  const page = Number(query.get('page') ?? 1)
  const limit = Number(query.get(size) ?? 20)
  return { items: all.slice((page - 1) * limit, page * limit), page, more: page * limit < all.length }
}

function linked<T>(all: T[], asked: Asked, size: string, wrap: (items: T[]) => unknown = items => items): Reply {
  const { items, page, more } = cut(all, asked, size)
  const to = (number: number, rel: string) => `<${asked.url}${asked.path}?page=${number}>; rel="${rel}"`
  return { headers: { Link: [to(1, 'first'), ...(more ? [to(page + 1, 'next')] : [])].join(', ') }, body: wrap(items) }
}

const matching = (names: string[], words: string | null) => names.filter(name => name.includes(words ?? ''))
const idOf = (name: string) => Number(name.slice(-1))

function github(asked: Asked): Reply | undefined {
  const repo = (full_name: string) => ({
    id: idOf(full_name),
    full_name,
    private: isPrivate(full_name),
    stargazers_count: idOf(full_name) * 10,
    pushed_at: '2026-01-02T03:04:05Z',
    default_branch: 'main',
    owner: { login: 'owner', type: 'Organization' },
  })
  const path = asked.path.replace(/^\/api\/v3/, '')
  switch (path) {
    case '/user':
      return {
        body: { id: 7, login: 'octo', avatar_url: 'https://a/7', company: 'Acme', name: 'Octo', email: 'o@x.org' },
      }
    case '/user/repos':
      return linked(REPOSITORIES.map(repo), asked, 'per_page')
    case '/search/repositories': {
      const words = asked.query.get('q')!.split(' ')[0]!
      return linked(matching(REPOSITORIES, words).map(repo), asked, 'per_page', items => ({ total_count: 9, items }))
    }
    case '/user/installations':
      return linked([{ id: 11 }, { id: 12 }, { id: 13 }], asked, 'per_page', installations => ({ installations }))
    case '/user/installations/11/repositories':
      return linked([repo(REPOSITORIES[0]!)], asked, 'per_page', repositories => ({ repositories }))
    case '/api/graphql':
      return {
        body: asked.body.query.includes('viewer') ? { data: GITHUB_WORK } : githubBranches(asked.body.variables),
      }
  }
  return hosted(path.replace('/repos/', ''), asked, repo, 'per_page', name => ({
    name,
    commit: { sha: `sha-${name}` },
    protected: name === 'main',
  }))
}

function githubBranches({ owner, name, text, limit }: Record<string, string>): object {
  if (!REPOSITORIES.includes(`${owner}/${name}`))
    return { data: { repository: null }, errors: [{ type: 'NOT_FOUND', message: 'Could not resolve' }] }
  const nodes = matching(BRANCHES, text!)
    .slice(0, Number(limit))
    .map(branch => ({
      name: branch,
      target: { oid: `sha-${branch}`, committedDate: '2026-01-02T03:04:05Z' },
      branchProtectionRule: branch === 'main' ? { id: 'x' } : null,
    }))
  return { data: { repository: { refs: { nodes } } } }
}

/** A repository, or its branches: the same on GitHub and Forgejo but for the size of a page. */
function hosted(
  path: string,
  asked: Asked,
  repo: (name: string) => object,
  size: string,
  branch: (name: string) => object,
): Reply | undefined {
  if (REPOSITORIES.includes(path)) return { body: repo(path) }
  const of = path.replace(/\/branches$/, '')
  return of !== path && REPOSITORIES.includes(of) ? linked(BRANCHES.map(branch), asked, size) : undefined
}

const pull = (number: number, mergeable: string, state: string | null, isResolved: boolean) => ({
  number,
  title: `Pull ${number}`,
  mergeable,
  repository: { nameWithOwner: 'owner/repo-1' },
  commits: { nodes: [{ commit: { statusCheckRollup: state && { state } } }] },
  reviewThreads: { nodes: [{ isResolved }] },
})
const GITHUB_WORK = {
  viewer: {
    pullRequests: {
      nodes: [
        pull(1, 'CONFLICTING', 'FAILURE', false),
        pull(2, 'MERGEABLE', 'FAILURE', false),
        pull(3, 'MERGEABLE', 'SUCCESS', false),
        pull(4, 'UNKNOWN', null, true),
        null,
      ],
    },
  },
  search: { nodes: [{ number: 5, title: 'Issue 5', repository: { nameWithOwner: 'owner/repo-2' } }] },
}

function gitlab(asked: Asked): Reply | undefined {
  const project = (path_with_namespace: string) => ({
    id: idOf(path_with_namespace),
    path_with_namespace,
    visibility: isPrivate(path_with_namespace) ? 'private' : 'public',
    star_count: 3,
    last_activity_at: '2026-01-02T05:04:05.000+02:00',
    default_branch: 'main',
    namespace: { kind: 'group' },
  })
  const paged = <T>(all: T[]): Reply => {
    const { items, page, more } = cut(all, asked, 'per_page')
    return { headers: { 'X-Next-Page': more ? String(page + 1) : '' }, body: items }
  }
  switch (asked.path) {
    case '/api/v4/user':
      return { body: { id: 8, username: 'lab', avatar_url: null, organization: '', name: 'Lab', email: 'l@x.org' } }
    case '/api/v4/projects':
      return paged(matching(REPOSITORIES, asked.query.get('search')).map(project))
    case '/api/v4/issues':
      return { body: [{ iid: 4, title: 'Issue 4', references: { full: 'group/sub/repo#4' } }] }
    case '/api/graphql':
      return { body: { data: { currentUser: { authoredMergeRequests: { nodes: GITLAB_WORK } } } } }
  }
  // The whole name is one part of the path.
  const [, name, rest] = /^\/api\/v4\/projects\/([^/]+)(\/repository\/branches)?$/.exec(asked.path) ?? []
  const full = decodeURIComponent(name ?? '')
  if (!REPOSITORIES.includes(full)) return undefined
  if (!rest) return { body: project(full) }
  return paged(
    matching(BRANCHES, asked.query.get('search')).map(name => ({
      name,
      commit: { id: `sha-${name}`, committed_date: '2026-01-02T05:04:05.000+02:00' },
      protected: name === 'main',
    })),
  )
}

const merge = (iid: string, conflicts: boolean, status: string, resolved: number) => ({
  iid,
  title: `Merge ${iid}`,
  conflicts,
  project: { fullPath: 'group/sub/repo' },
  headPipeline: { status },
  resolvableDiscussionsCount: 2,
  resolvedDiscussionsCount: resolved,
})
const GITLAB_WORK = [merge('1', true, 'FAILED', 0), merge('2', false, 'FAILED', 0), merge('3', false, 'SUCCESS', 1)]

function forgejo(asked: Asked): Reply | undefined {
  const repo = (full_name: string) => ({
    id: idOf(full_name),
    full_name,
    private: isPrivate(full_name),
    stars_count: 2,
    updated_at: '2026-01-02T03:04:05Z',
    default_branch: 'main',
  })
  const path = asked.path.replace(/^\/api\/v1/, '')
  switch (path) {
    case '/user':
      return { body: { id: 9, login: 'jo', avatar_url: 'https://a/9', full_name: '', email: 'j@x.org' } }
    case '/user/repos':
      return linked(REPOSITORIES.map(repo), asked, 'limit')
    case '/repos/search':
      return linked(matching(REPOSITORIES, asked.query.get('q')).map(repo), asked, 'limit', data => ({
        ok: true,
        data,
      }))
  }
  return hosted(path.replace('/repos/', ''), asked, repo, 'limit', name => ({
    name,
    commit: { id: `sha-${name}`, timestamp: '2026-01-02T03:04:05Z' },
    protected: name === 'main',
  }))
}

/** The workspace `owner` has them all; `empty` comes before it, `last` after it has one. */
function bitbucket(asked: Asked): Reply | undefined {
  const repo = (full_name: string) => ({
    uuid: `{${full_name}}`,
    full_name,
    is_private: isPrivate(full_name),
    updated_on: '2026-01-02T03:04:05.123456+00:00',
    mainbranch: { type: 'branch', name: 'main' },
  })
  const paged = <T>(all: T[]): Reply => {
    const { items, page, more } = cut(all, asked, 'pagelen')
    const next = more ? { next: `${asked.url}${asked.path}?page=${page + 1}` } : {}
    return { body: { values: items, page, size: all.length, ...next } }
  }
  // `name ~ "words"` is the only question these tests ask.
  const words = /^name ~ "(.*)"$/.exec(asked.query.get('q') ?? '')?.[1] ?? null
  const path = asked.path.replace(/^\/2\.0/, '')
  switch (path) {
    case '/user':
      return {
        body: {
          uuid: '{u}',
          account_id: 'acc',
          nickname: 'bucket',
          display_name: 'Bucket',
          links: { avatar: { href: 'https://a/10' } },
        },
      }
    case '/user/workspaces':
      return paged(['empty', 'owner', 'last'].map(slug => ({ workspace: { slug } })))
    case '/repositories/empty':
      return paged([])
    case '/repositories/owner':
      return paged(matching(REPOSITORIES, words).map(repo))
    case '/repositories/last':
      return paged(matching(['last/other-6'], words).map(repo))
  }
  const name = path.replace('/repositories/', '').replace(/\/refs\/branches$/, '')
  if (!REPOSITORIES.includes(name)) return undefined
  if (!path.endsWith('/refs/branches')) return { body: repo(name) }
  return paged(
    matching(BRANCHES, words).map(name => ({
      name,
      target: { hash: `sha-${name}`, date: '2026-01-02T03:04:05+00:00' },
    })),
  )
}

const SPEAKS: Record<Kind, Speaks> = { github, gitlab, bitbucket, forgejo }
