import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Branch, Repository, SuggestedTask } from '../../src/api/git-providers.ts'
import { appInProcess, type OwnApp } from '../support/app.ts'
import { exchange, exchangeJson } from '../support/exchange.ts'
import { BRANCHES, FakeProvider, type Kind, REPOSITORIES, TOKEN } from '../support/git-providers.ts'

const KINDS: Kind[] = ['github', 'gitlab', 'bitbucket', 'forgejo']
const headers = { 'X-Session-API-Key': 'the-key' }
const fakes = {} as Record<Kind, FakeProvider>
let app: OwnApp
/** Everything that was ever answered. */
let answered = ''
before(async () => {
  for (const kind of KINDS) fakes[kind] = await FakeProvider.start(kind)
  app = await appInProcess([], { SESSION_API_KEY: 'the-key' })
})
after(async () => {
  await app[Symbol.asyncDispose]()
  for (const kind of KINDS) await fakes[kind][Symbol.asyncDispose]()
})

async function get(path: string, query: Record<string, string | number> = {}) {
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]))
  const { status, text } = await exchange(app.url, { path: `${path}?${search}`, headers })
  answered += text
  return { status, body: JSON.parse(text) }
}
const store = async (tokens: Record<string, unknown>) => {
  const body = { secrets_store: { provider_tokens: tokens } }
  const { status, text } = await exchangeJson(app.url, { method: 'POST', path: '/api/settings', headers, body })
  assert.equal(status, 200, text)
}

async function pages<T>(path: string, query: Record<string, string | number>): Promise<T[]> {
  const items: T[] = []
  let page_id = ''
  for (let count = 0; count < 20; count++) {
    const { status, body } = await get(path, { ...query, ...(page_id && { page_id }) })
    assert.equal(status, 200, JSON.stringify(body))
    items.push(...body.items)
    if (body.next_page_id === null) return items
    page_id = body.next_page_id
    assert.match(page_id, /^[\w-]+$/)
  }
  return assert.fail('The pages have no end')
}

const V1 = '/api/v1/git'
const asked = { provider: 'github', repository: 'owner/repo-1', query: '' }

describe('before any token is stored', () => {
  for (const path of ['installations', 'repositories', 'branches', 'suggested-tasks'])
    test(`${path} say that one is needed`, async () => {
      const { status, body } = await get(`${V1}/${path}/search`, asked)
      assert.deepEqual([status, body.detail], [401, 'Git provider token required (such as GitHub).'])
    })

  test('nobody knows who the user is', async () => {
    const { status, body } = await get('/api/v1/users/git-info')
    assert.deepEqual([status, body.detail], [401, 'Not authenticated'])
  })

  test('a provider that does not exist, and a limit out of bounds, are told before that', async () => {
    assert.equal((await get(`${V1}/repositories/search`, { provider: 'sourceforge' })).status, 422)
    assert.equal((await get(`${V1}/repositories/search`)).status, 422)
    assert.equal((await get(`${V1}/branches/search`, { ...asked, limit: 101 })).status, 422)
  })
})

describe('with tokens stored', () => {
  before(() => store(Object.fromEntries(KINDS.map(kind => [kind, { token: TOKEN, host: fakes[kind].url }]))))

  test('repositories, page by page, each once', async () => {
    for (const provider of KINDS) {
      const found = await pages<Repository>(`${V1}/repositories/search`, { provider, limit: 2 })
      assert.deepEqual(found.map(one => one.full_name).slice(0, 5), REPOSITORIES)
      assert.ok(found.every(one => one.git_provider === provider))
    }
  })

  test('repositories by words, by their address, sorted; the order of a mere list cannot be chosen', async () => {
    const search = (query: Record<string, string>) => get(`${V1}/repositories/search`, { provider: 'github', ...query })
    for (const query of ['repo-2', `${fakes.github.url}/owner/repo-2.git`]) {
      const { body } = await search({ query, sort_order: 'stars-desc' })
      assert.deepEqual(
        body.items.map((one: Repository) => one.full_name),
        ['owner/repo-2'],
      )
    }
    assert.equal(fakes.github.asked.at(-1)?.query.get('q'), 'repo-2 in:name fork:true user:owner')
    assert.equal((await search({ sort_order: 'stars-desc' })).status, 400)
    assert.equal((await search({ query: 'x', sort_order: 'sideways' })).status, 422)
  })

  test('branches, listed by page and searched on one page only', async () => {
    const path = `${V1}/branches/search`
    for (const provider of KINDS) {
      const listed = await pages<Branch>(path, { ...asked, provider, limit: 2 })
      assert.deepEqual(
        listed.map(({ name }) => name),
        BRANCHES,
      )
      const { body } = await get(path, { ...asked, provider, query: 'fix' })
      assert.deepEqual([body.items[0].name, body.items.length, body.next_page_id], ['fix-three', 1, null])
    }
    const second = Buffer.from('2').toString('base64url')
    assert.equal((await get(path, { ...asked, query: 'fix', page_id: second })).status, 400)
    assert.equal((await get(path, { ...asked, repository: 'owner/nothing' })).status, 404)
    assert.equal((await get(path, { ...asked, repository: '../../user' })).status, 422)
  })

  test('installations where there are any', async () => {
    const path = `${V1}/installations/search`
    assert.deepEqual(await pages(path, { provider: 'github', limit: 2 }), ['11', '12', '13'])
    for (const provider of ['gitlab', 'forgejo']) assert.equal((await get(path, { provider })).status, 400)
  })

  test('tasks of all providers, and none lost between pages', async () => {
    const path = `${V1}/suggested-tasks/search`
    const whole = await pages<SuggestedTask>(path, {})
    assert.equal(whole.length, 9)
    assert.deepEqual(await pages<SuggestedTask>(path, { limit: 4 }), whole)
  })

  test('whose tokens they are', async () => {
    const { status, body } = await get('/api/v1/users/git-info')
    assert.deepEqual([status, body.login, body.company], [200, 'octo', 'Acme'])
  })

  test('a page id that is rubbish is the first page', async () => {
    const { body } = await get(`${V1}/repositories/search`, { provider: 'github', limit: 1, page_id: '!!%%' })
    assert.equal(body.items[0].full_name, 'owner/repo-1')
  })

  test('the older forms are bare lists, of all providers unless one is named', async () => {
    const list = async (path: string, query: Record<string, string | number> = {}) => {
      const { status, body } = await get(`/api/user/${path}`, query)
      assert.equal(status, 200, JSON.stringify(body))
      return body
    }
    assert.equal((await list('info')).login, 'octo')
    assert.deepEqual(await list('installations', { provider: 'bitbucket' }), ['empty', 'owner', 'last'])
    assert.equal((await list('repositories', { per_page: 2 })).length, 8)
    assert.deepEqual(await list('repositories', { page: 2 }), [])
    assert.deepEqual(await list('repositories', { selected_provider: 'bitbucket', page: 2 }), [])
    const [first, second] = await list('repositories', { selected_provider: 'gitlab', page: 2, per_page: 2 })
    assert.deepEqual([first.full_name, second.full_name], ['owner/repo-3', 'owner/repo-4'])
    assert.match(first.link_header, /[?&]page=3>; rel="next"/)
    const found = await list('search/repositories', { query: 'repo-4', selected_provider: 'forgejo' })
    assert.deepEqual(found[0].full_name, 'owner/repo-4')
    assert.equal((await list('search/repositories', { query: 'repo-4' })).length, 4)
    assert.equal((await list('repository/branches', { repository: 'owner/repo-1' })).length, BRANCHES.length)
    assert.equal((await list('search/branches', { repository: 'owner/repo-1', query: 'feature' })).length, 2)
    assert.equal((await list('suggested-tasks')).length, 9)
  })

  test('one provider that fails hides nothing of the others; a failing one that is asked alone says so', async () => {
    fakes.github.misbehave = (request, out) => out.writeHead(401).end(request.headers.authorization)
    try {
      assert.equal((await pages(`${V1}/suggested-tasks/search`, {})).length, 4)
      const { status, body } = await get(`${V1}/repositories/search`, { provider: 'github' })
      assert.deepEqual([status, body.code], [401, 'provider_unauthorized'])
      assert.equal(body.detail, 'Invalid token. Please make sure it is a valid github token.')
    } finally {
      fakes.github.misbehave = undefined
    }
  })

  test('the token was in no answer and in no line of the log', () => {
    assert.ok(answered.length > 10_000)
    assert.ok(app.lines.length > 20)
    assert.ok(!answered.includes(TOKEN))
    assert.ok(!app.lines.join('\n').includes(TOKEN))
  })
})
