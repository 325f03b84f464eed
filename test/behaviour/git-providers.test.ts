import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { inspect } from 'node:util'
import { type ErrorCode, Fault } from '../../src/api/errors.ts'
import type { Branch, Repository } from '../../src/api/git-providers.ts'
import type { GitProvider, Listing, Slice } from '../../src/git-providers/provider.ts'
import { GitProviders } from '../../src/git-providers/providers.ts'
import { guardedFetch } from '../../src/sandbox/egress/fetch.ts'
import { BRANCHES, FakeProvider, type Kind, REPOSITORIES, TOKEN } from '../support/git-providers.ts'

const KINDS: Kind[] = ['github', 'gitlab', 'bitbucket', 'forgejo']
const LIMITS = { ms: 10_000, bytes: 64 * 1024 }
const IMPATIENT = { ...LIMITS, ms: 200 }
const calling = guardedFetch()
const fakes = {} as Record<Kind, FakeProvider>
before(async () => {
  for (const kind of KINDS) fakes[kind] = await FakeProvider.start(kind)
})
after(async () => {
  await calling.close()
  for (const kind of KINDS) await fakes[kind][Symbol.asyncDispose]()
})

type Tokens = Record<string, { token: string; host: string | null }>
const providers = (tokens: Tokens, limits = LIMITS) =>
  new GitProviders({ tokens: async () => tokens, fetch: calling.fetch, limits })
const all = (limits = LIMITS) =>
  providers(Object.fromEntries(KINDS.map(kind => [kind, { token: TOKEN, host: fakes[kind].url }])), limits)
const of = (kind: Kind, limits = LIMITS) => all(limits).of(kind)

/** Rejects with this very error, and with nothing anywhere in it that holds the token. */
async function refuses(work: Promise<unknown>, code: ErrorCode): Promise<Fault> {
  const error = await work.then(
    () => assert.fail(`It was to be refused with ${code}`),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof Fault, inspect(error))
  assert.equal(error.code, code, error.message)
  const whole = inspect(error, { depth: 10, showHidden: true })
  assert.ok(!whole.includes(TOKEN) && !whole.includes(Buffer.from(TOKEN).toString('base64')), whole)
  return error
}

async function everyPage<T>(list: (slice: Slice) => Promise<Listing<T>>, limit: number): Promise<T[]> {
  const items: T[] = []
  let cursor: string | null = null
  for (let pages = 0; pages < 20; pages++) {
    const page: Listing<T> = await list({ cursor, limit })
    assert.ok(page.items.length <= limit)
    items.push(...page.items)
    if (page.next === null) return items
    cursor = page.next
  }
  return assert.fail('The pages have no end')
}

const repositories = (provider: GitProvider, query: string | null) => (slice: Slice) =>
  provider.repositories({ query, installation: null, order: null, ...slice })
const names = (found: Repository[]) => found.map(({ full_name }) => full_name)
const branchNames = (found: Branch[]) => found.map(({ name }) => name)

for (const kind of KINDS)
  describe(`${kind}, asked over HTTP as it is really asked`, () => {
    test('says whose token it is', async () => {
      const { id, login } = await (await of(kind)).whoami()
      const known = { github: ['7', 'octo'], gitlab: ['8', 'lab'], bitbucket: ['acc', 'bucket'], forgejo: ['9', 'jo'] }
      assert.deepEqual([id, login], known[kind])
    })

    test('gives every repository once over its pages, whatever their size', async () => {
      const provider = await of(kind)
      const expected = kind === 'bitbucket' ? [...REPOSITORIES, 'last/other-6'] : REPOSITORIES
      for (const limit of [2, 5, 100]) {
        assert.deepEqual(names(await everyPage(repositories(provider, null), limit)), expected)
      }
    })

    test('finds repositories by a part of their name', async () => {
      assert.deepEqual(names(await everyPage(repositories(await of(kind), 'repo-3'), 10)), ['owner/repo-3'])
    })

    test('tells a private repository, its main branch and the time in UTC; null for one it does not have', async () => {
      const provider = await of(kind)
      const [known, hidden] = [await provider.repository('owner/repo-1'), await provider.repository('owner/repo-5')]
      assert.equal(known?.is_public, true)
      assert.equal(hidden?.is_public, false)
      assert.equal(known?.main_branch, 'main')
      assert.match(known?.pushed_at ?? '', /^2026-01-02T03:04:05\.\d{6}Z$/)
      assert.equal(await provider.repository('owner/nothing'), null)
    })

    test('gives every branch once over its pages, and finds some by a part of their name', async () => {
      const provider = await of(kind)
      for (const limit of [2, 100]) {
        const listed = await everyPage(slice => provider.branches('owner/repo-1', slice), limit)
        assert.deepEqual(branchNames(listed), BRANCHES)
        assert.equal(listed[1]?.commit_sha, 'sha-feature/one')
      }
      const found = await provider.searchBranches('owner/repo-1', 'feature', 30)
      assert.deepEqual(branchNames(found), ['feature/one', 'feature/two'])
      assert.equal((await provider.searchBranches('owner/repo-1', 'feature', 1)).length, 1)
    })

    test('says so when the repository of branches is not there', async () => {
      const provider = await of(kind)
      await refuses(provider.branches('owner/nothing', { cursor: null, limit: 5 }), 'provider_not_found')
      await refuses(provider.searchBranches('owner/nothing', 'x', 5), 'provider_not_found')
    })

    test('a token is checked before it is stored, and one that is refused is not repeated', async () => {
      const host = fakes[kind].url
      await all().check(kind, { token: ` ${TOKEN}\n`, host })
      const wrong = `${TOKEN}-wrong`
      const error = await refuses(all().check(kind, { token: wrong, host }), 'provider_unauthorized')
      assert.equal(error.message, `Invalid token. Please make sure it is a valid ${kind} token.`)
      assert.equal(error.status, 401)
    })

    test('a token that cannot be a header is refused as wrong, unsent', async () => {
      const sent = fakes[kind].asked.length
      await refuses(
        all().check(kind, { token: `${TOKEN}\r\nX-Evil: 1`, host: fakes[kind].url }),
        'provider_unauthorized',
      )
      assert.equal(fakes[kind].asked.length, sent)
    })
  })

describe('what only some providers have', () => {
  test('installations of GitHub, workspaces of Bitbucket; none elsewhere', async () => {
    const list = async (kind: Kind) => {
      const provider = await of(kind)
      return provider.installations && everyPage(slice => provider.installations!(slice), 2)
    }
    assert.deepEqual(await list('github'), ['11', '12', '13'])
    assert.deepEqual(await list('bitbucket'), ['empty', 'owner', 'last'])
    assert.equal(await list('gitlab'), undefined)
    assert.equal(await list('forgejo'), undefined)
  })

  test('repositories of one installation; a hostile one leads nowhere else', async () => {
    const within = async (kind: Kind, installation: string) =>
      (await of(kind)).repositories({ query: null, order: null, installation, cursor: null, limit: 10 })
    assert.deepEqual(names((await within('github', '11')).items), ['owner/repo-1'])
    assert.deepEqual(names((await within('bitbucket', 'last')).items), ['last/other-6'])
    const below = { github: '/api/v3/user/installations/', bitbucket: '/2.0/repositories/' }
    for (const kind of ['github', 'bitbucket'] as const)
      for (const hostile of ['..', '.', '../user', 'a/../../user', '?x=1', '#']) {
        const sent = fakes[kind].asked.length
        await refuses(within(kind, hostile), 'provider_not_found')
        const elsewhere = fakes[kind].asked.slice(sent).filter(({ path }) => !path.startsWith(below[kind]))
        assert.deepEqual(elsewhere, [])
      }
  })

  test('a token without an app has no installations: that is no error', async () => {
    fakes.github.misbehave = (_, out) => out.writeHead(403).end('{}')
    try {
      assert.deepEqual(await (await of('github')).installations!({ cursor: null, limit: 5 }), { items: [], next: null })
    } finally {
      fakes.github.misbehave = undefined
    }
  })

  test('tasks: what stands in the way of a pull request first, then assigned issues', async () => {
    const brief = async (kind: Kind) =>
      (await (await of(kind)).suggestedTasks!()).map(one => [one.task_type, one.repo, one.issue_number])
    assert.deepEqual(await brief('github'), [
      ['MERGE_CONFLICTS', 'owner/repo-1', 1],
      ['FAILING_CHECKS', 'owner/repo-1', 2],
      ['UNRESOLVED_COMMENTS', 'owner/repo-1', 3],
      ['OPEN_PR', 'owner/repo-1', 4],
      ['OPEN_ISSUE', 'owner/repo-2', 5],
    ])
    assert.deepEqual(await brief('gitlab'), [
      ['MERGE_CONFLICTS', 'group/sub/repo', 1],
      ['FAILING_CHECKS', 'group/sub/repo', 2],
      ['UNRESOLVED_COMMENTS', 'group/sub/repo', 3],
      ['OPEN_ISSUE', 'group/sub/repo', 4],
    ])
  })

  test('a search is sorted as the provider calls it', async () => {
    const sent = async (kind: Kind, order: 'stars-desc' | 'updated-asc') => {
      await (await of(kind)).repositories({ query: 'repo', installation: null, order, cursor: null, limit: 3 })
      const { query } = fakes[kind].asked.findLast(({ query }) => query.has('sort'))!
      return [query.get('order_by'), query.get('sort'), query.get('order')]
    }
    assert.deepEqual(await sent('github', 'stars-desc'), [null, 'stars', 'desc'])
    assert.deepEqual(await sent('gitlab', 'stars-desc'), ['star_count', 'desc', null])
    assert.deepEqual(await sent('forgejo', 'updated-asc'), [null, 'updated', 'asc'])
    assert.deepEqual(await sent('bitbucket', 'updated-asc'), [null, 'updated_on', null])
  })

  test('quotes in a search stay inside the question', async () => {
    await repositories(await of('bitbucket'), 'x" OR name ~ "\\')({ cursor: null, limit: 3 })
    const q = fakes.bitbucket.asked.findLast(({ query }) => query.has('q'))!.query.get('q')
    assert.equal(q, 'name ~ "x\\" OR name ~ \\"\\\\"')
  })

  test('a user with a password is known to Bitbucket by both', async () => {
    const { asked, url } = fakes.bitbucket
    await refuses(all().check('bitbucket', { token: `me@x.org:${TOKEN}`, host: url }), 'provider_unauthorized')
    assert.equal(asked.at(-1)?.headers.authorization, `Basic ${Buffer.from(`me@x.org:${TOKEN}`).toString('base64')}`)
  })
})

type Misbehaviour = (request: IncomingMessage, out: ServerResponse) => void
const status =
  (code: number, headers: Record<string, string> = {}): Misbehaviour =>
  (request, out) =>
    out.writeHead(code, headers).end(`{"message": "you sent ${request.headers.authorization}"}`)

const user = (login: string) => JSON.stringify({ id: 1, login, avatar_url: '' })

describe('a provider that fails', () => {
  const github = async (misbehave: Misbehaviour, work: (provider: GitProvider) => Promise<void>, limits = LIMITS) => {
    fakes.github.misbehave = misbehave
    try {
      await work(await of('github', limits))
    } finally {
      fakes.github.misbehave = undefined
    }
  }
  const cases: [name: string, misbehave: Misbehaviour, code: ErrorCode][] = [
    ['401', status(401), 'provider_unauthorized'],
    ['403', status(403), 'provider_forbidden'],
    ['404', status(404), 'provider_not_found'],
    ['422', status(422), 'bad_request'],
    ['429', status(429), 'provider_rate_limited'],
    ['500', status(500), 'provider_unavailable'],
    ['304, for which nobody asked', status(304), 'provider_unavailable'],
    ['an answer too large', (_, out) => out.end(user('x'.repeat(LIMITS.bytes))), 'provider_unavailable'],
    ['rubbish', (_, out) => out.end(`<html>${TOKEN}`), 'provider_unavailable'],
    ['JSON of another kind', (_, out) => out.end(`{"login": {"a": "${TOKEN}"}}`), 'provider_unavailable'],
    ['a hang-up', (_, out) => out.destroy(), 'provider_unavailable'],
  ]
  for (const [name, misbehave, code] of cases)
    test(`${name}: ${code}, and nothing of what it said`, () =>
      github(misbehave, async provider => {
        const error = await refuses(provider.whoami(), code)
        assert.ok(!error.message.includes('you sent'))
      }))

  for (const [name, misbehave] of [
    ['says nothing', () => undefined],
    ['never comes to an end', (_, out) => out.writeHead(200).write('[')],
  ] satisfies [string, Misbehaviour][])
    test(`one that ${name} is not waited for`, () =>
      github(
        misbehave,
        async provider => {
          const error = await refuses(provider.whoami(), 'provider_unavailable')
          assert.match(error.message, /in time/)
        },
        IMPATIENT,
      ))

  test('a redirect to itself is not followed for long', () =>
    github(status(302, { Location: '/api/v3/user' }), async provider => {
      const sent = fakes.github.asked.length
      await refuses(provider.whoami(), 'provider_unavailable')
      assert.ok(fakes.github.asked.length - sent < 6)
    }))

  test('how long to wait is passed on, from whichever header', async () => {
    const wait = async (misbehave: Misbehaviour, seconds: (told: number) => boolean) =>
      github(misbehave, async provider => {
        const { retryAfter } = await refuses(provider.whoami(), 'provider_rate_limited')
        assert.ok(retryAfter !== undefined && seconds(retryAfter), String(retryAfter))
      })
    const reset = String(Math.ceil(Date.now() / 1000) + 60)
    await wait(status(429, { 'Retry-After': '17' }), told => told === 17)
    await wait(status(403, { 'Retry-After': '17' }), told => told === 17)
    const date = new Date(Date.now() + 60_000).toUTCString()
    await wait(status(429, { 'Retry-After': date }), told => told > 50 && told <= 60)
    const spent = { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': reset }
    await wait(status(403, spent), told => told > 50 && told <= 61)
  })

  test('a connection that broke is tried once more, when only something is read', async () => {
    let tries = 0
    const breaksOnce: Misbehaviour = (_, out) => {
      tries += 1
      if (tries === 1) out.destroy()
      else out.end(user('again'))
    }
    await github(breaksOnce, async provider => assert.equal((await provider.whoami()).login, 'again'))
    tries = 0
    await github(breaksOnce, async provider => {
      await refuses(provider.suggestedTasks!(), 'provider_unavailable')
    })
    assert.equal(tries, 1)
  })

  test('a renamed repository is found behind a redirect of the same host', () =>
    github(
      (request, out) => {
        if (request.url === '/api/v3/repos/old/name') out.writeHead(301, { Location: '/api/v3/repositories/1' }).end()
        else out.end('{"id": 1, "full_name": "new/name", "private": false}')
      },
      async provider => assert.equal((await provider.repository('old/name'))?.full_name, 'new/name'),
    ))

  test('a redirect to another host is not followed: the token never arrives there', async () => {
    await using other = await FakeProvider.start('github')
    const elsewhere = status(302, { Location: `${other.url}/api/v3/user` })
    await github(elsewhere, async provider => {
      await refuses(provider.whoami(), 'provider_unavailable')
    })
    assert.deepEqual(other.asked, [])
  })

  test('a token that may not ask whose it is counts as valid; a host without a provider does not', async () => {
    const check = () => all().check('github', { token: TOKEN, host: fakes.github.url })
    await github(status(403), check)
    await github(status(404), async () => {
      await refuses(check(), 'provider_unavailable')
    })
  })

  test('nobody there, or a metadata address: it cannot be reached', async () => {
    await refuses(all().check('gitlab', { token: TOKEN, host: 'http://127.0.0.1:1' }), 'provider_unavailable')
    await refuses(all().check('gitlab', { token: TOKEN, host: 'http://169.254.169.254' }), 'provider_unavailable')
  })

  test('one of several that fails does not hide the others; whose tokens they are, the next one says', async () => {
    fakes.github.misbehave = status(500)
    try {
      assert.equal((await all().whoami()).login, 'lab')
    } finally {
      fakes.github.misbehave = undefined
    }
  })
})

describe('tokens and hosts', () => {
  test('without a token a provider is not asked', async () => {
    const error = await refuses(providers({}).of('github'), 'git_token_required')
    assert.equal(error.message, 'Git provider token required (such as GitHub).')
    await refuses(providers({}).whoami(), 'git_user_unknown')
    await refuses(providers({ github: { token: ' ', host: null } }).of('github'), 'git_token_required')
  })

  test('those that are only cloned from take any token, and list nothing', async () => {
    const host = 'git.example.com'
    const cloned = providers({ bitbucket_data_center: { token: 'x', host }, azure_devops: { token: 'y', host: null } })
    await cloned.check('azure_devops', { token: 'y', host: null })
    await cloned.check('bitbucket_data_center', { token: 'x', host })
    await refuses(cloned.check('bitbucket_data_center', { token: 'x', host: null }), 'invalid_request')
    await refuses(cloned.check('enterprise_sso', { token: 'x' }), 'provider_unsupported')
    const error = await refuses(cloned.of('azure_devops'), 'provider_unsupported')
    assert.match(error.message, /not supported for azure_devops/)
  })

  test('a host may live below a path; one that is no host is refused', async () => {
    await refuses(all().check('gitlab', { token: TOKEN, host: `${fakes.gitlab.url}/git/lab/` }), 'provider_unavailable')
    assert.equal(fakes.gitlab.asked.at(-1)?.path, '/git/lab/api/v4/user')
    for (const host of ['https://a:b@x.org', 'x.org?y=1', 'x.org#y', 'x y', 'ftp://x.org', 'x.org/%20', '/', ':'])
      await refuses(all().check('gitlab', { token: TOKEN, host }), 'invalid_request')
  })
})
