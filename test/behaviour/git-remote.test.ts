import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { Fault } from '../../src/api/errors.ts'
import type { ProviderType } from '../../src/api/git-providers.ts'
import { GitProviders } from '../../src/git-providers/providers.ts'
import { guardedFetch } from '../../src/sandbox/egress/fetch.ts'
import { FakeProvider, TOKEN } from '../support/git-providers.ts'

const calling = guardedFetch()
after(() => calling.close())

type Tokens = Record<string, { token: string; host: string | null }>
const remoteOf = (tokens: Tokens, repository: string, provider: ProviderType | null = null) =>
  new GitProviders({ tokens: async () => tokens, fetch: calling.fetch }).remoteOf(repository, provider)

const token = (host: string | null = null) => ({ token: TOKEN, host })
const invalid = (error: unknown) => error instanceof Fault && error.code === 'invalid_request'

describe('where a repository is fetched from', () => {
  const cases: [provider: ProviderType, host: string | null, name: string, url: string, username: string][] = [
    ['github', null, 'a/b', 'https://github.com/a/b.git', 'x-access-token'],
    ['github', 'git.corp.example', 'a/b', 'https://git.corp.example/a/b.git', 'x-access-token'],
    ['gitlab', null, 'a/b/c/d', 'https://gitlab.com/a/b/c/d.git', 'oauth2'],
    ['gitlab', 'http://lab.local:8080/git/', 'a/b', 'http://lab.local:8080/git/a/b.git', 'oauth2'],
    ['bitbucket', null, 'a/b', 'https://bitbucket.org/a/b.git', 'x-token-auth'],
    ['forgejo', null, 'a/.profile', 'https://codeberg.org/a/.profile.git', 'oauth2'],
    ['azure_devops', null, 'org/proj/repo', 'https://dev.azure.com/org/proj/_git/repo', 'oh'],
    ['bitbucket_data_center', 'bb.example', '~me/b', 'https://bb.example/scm/~me/b.git', 'x-token-auth'],
  ]
  for (const [provider, host, name, url, username] of cases)
    test(`${provider} ${host ?? ''}: ${url}`, async () => {
      const remote = await remoteOf({ [provider]: token(host) }, name, provider)
      const variable = `${provider.toUpperCase()}_TOKEN`
      assert.deepEqual(remote, { provider, repository: name, url, credential: { username, token: TOKEN, variable } })
    })

  test('without a token it is public', async () => {
    const remote = await remoteOf({}, 'a/b')
    assert.deepEqual(remote, {
      provider: 'github',
      repository: 'a/b',
      url: 'https://github.com/a/b.git',
      credential: null,
    })
    assert.equal((await remoteOf({}, 'a/b/c')).url, 'https://gitlab.com/a/b/c.git')
    assert.equal((await remoteOf({}, 'a/b', 'forgejo')).credential, null)
  })

  test('a Bitbucket token with a colon is a user and a password; an e-mail address is no name for git', async () => {
    const credential = async (stored: string) =>
      (await remoteOf({ bitbucket: { token: stored, host: null } }, 'a/b')).credential
    const variable = 'BITBUCKET_TOKEN'
    assert.deepEqual(await credential('me:pass:word'), { username: 'me', token: 'pass:word', variable })
    const byMail = { username: 'x-bitbucket-api-token-auth', token: 'word', variable }
    assert.deepEqual(await credential('me@x.org:word'), byMail)
  })

  test("a token that would end a line of git's protocol is not given to it", async () => {
    const stored = { github: { token: 'abc\nhost=evil.example', host: null } }
    await assert.rejects(
      remoteOf(stored, 'a/b'),
      error => error instanceof Fault && error.code === 'provider_unauthorized' && !error.message.includes('evil'),
    )
  })
})

describe('whose repository it is, when nobody says', () => {
  test('of the only provider with a token', async () => {
    assert.equal((await remoteOf({ forgejo: token() }, 'a/b')).url, 'https://codeberg.org/a/b.git')
  })

  test('of the only one with a token that has names of that form', async () => {
    const tokens = { github: token(), gitlab: token(), forgejo: token() }
    assert.equal((await remoteOf(tokens, 'a/b/c')).provider, 'gitlab')
  })

  test('of the one that knows it; what fails does not know it; else it is public on GitHub', async () => {
    await using github = await FakeProvider.start('github')
    await using gitlab = await FakeProvider.start('gitlab')
    await using forgejo = await FakeProvider.start('forgejo')
    github.misbehave = (_, out) => out.writeHead(500).end()
    gitlab.misbehave = (_, out) => out.writeHead(404).end()
    const tokens = { github: token(github.url), gitlab: token(gitlab.url), forgejo: token(forgejo.url) }
    assert.equal((await remoteOf(tokens, 'owner/repo-2')).url, `${forgejo.url}/owner/repo-2.git`)
    assert.equal((await remoteOf(tokens, 'owner/unknown')).url, `${github.url}/owner/unknown.git`)
    assert.equal((await remoteOf(tokens, 'owner/repo-2', 'gitlab')).provider, 'gitlab')
  })
})

describe('a repository given by its address', () => {
  const tokens = { gitlab: token('https://lab.example/git'), github: token() }
  test('of a known host', async () => {
    const lab = await remoteOf(tokens, 'https://lab.example/git/group/sub/name')
    assert.deepEqual([lab.provider, lab.repository], ['gitlab', 'group/sub/name'])
    assert.equal(lab.credential?.token, TOKEN)
    const hub = await remoteOf(tokens, 'https://GitHub.com/a/b.git/')
    assert.deepEqual([hub.repository, hub.url], ['a/b', 'https://github.com/a/b.git'])
    const azure = await remoteOf({}, 'https://dev.azure.com/o/p/_git/r')
    assert.deepEqual([azure.repository, azure.url], ['o/p/r', 'https://dev.azure.com/o/p/_git/r'])
  })

  test('a token is only for the host it was stored for', async () => {
    const remote = await remoteOf(tokens, 'https://gitlab.com/a/b')
    assert.deepEqual([remote.provider, remote.credential], ['gitlab', null])
  })

  for (const url of [
    'https://evil.example/a/b',
    'https://github.com.evil.example/a/b',
    'http://github.com/a/b',
    'https://lab.example/other/a/b',
    'https://user:pw@github.com/a/b',
    'https://github.com@evil.example/a/b',
    'https://github.com/a/b?x=1',
    'https://github.com/a/b#x',
    'https://github.com/a/b/tree/main',
    'https://github.com/a',
    'https://github.com/a/%2e%2e/b/c',
    'https://github.com/a/../b/c',
    'https://github.com/a/b\n',
    'https:\\\\github.com\\a\\b',
    'https://github.com/a/--upload-pack=x',
  ])
    test(`not ${JSON.stringify(url)}`, () => assert.rejects(remoteOf(tokens, url), invalid))

  test('nor one of another provider than was named', () =>
    assert.rejects(remoteOf(tokens, 'https://github.com/a/b', 'gitlab'), invalid))
})

describe('a name that could be more than a name is refused', () => {
  const parts = ['', '-x', '--upload-pack=x', '.', '..', 'a..b', 'a b', 'a\tb', 'a\nb', 'a\0b', 'a"b', "a'b", 'a\\b']
  const signs = [...';&|$`<>(){}[]*?!#%^=+,:@~'].map(sign => `a${sign}b`)
  for (const part of [...parts, ...signs, 'ä', 'x'.repeat(600)])
    test(JSON.stringify(part.slice(0, 20)), async () => {
      for (const name of [`${part}/b`, `a/${part}`])
        for (const provider of [null, 'github', 'gitlab', 'bitbucket_data_center'] as const)
          await assert.rejects(remoteOf({ bitbucket_data_center: token('x.org') }, name, provider), invalid, name)
    })

  test('too few parts, or too many for the provider', async () => {
    await assert.rejects(remoteOf({}, 'alone'), invalid)
    await assert.rejects(remoteOf({}, 'a/b/c', 'github'), invalid)
    await assert.rejects(remoteOf({}, 'a/b', 'azure_devops'), invalid)
    await assert.rejects(remoteOf({}, 'a/b', 'enterprise_sso'), invalid)
    await assert.rejects(remoteOf({}, '~me/b', 'github'), invalid)
    await assert.rejects(remoteOf({}, 'git@github.com:a/b.git'), invalid)
    await assert.rejects(remoteOf({}, Array(23).fill('a').join('/'), 'gitlab'), invalid)
  })
})
