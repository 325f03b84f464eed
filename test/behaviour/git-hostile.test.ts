import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { execute, sh } from '../support/bash.ts'
import { exchange, inParallel } from '../support/exchange.ts'
import { HOSTILE, repository } from '../support/git.ts'
import { Random } from '../support/random.ts'
import { DEEP, TestServer } from '../support/server.ts'

let server: TestServer
let path: string
before(async () => {
  server = await TestServer.start({ args: ['--log-level', 'error'] })
  path = await repository(server, 'honest', 'echo 1 > file; git add -A; git commit -qm one; echo 2 > file')
})
after(() => server[Symbol.asyncDispose]())

const ask = async (
  route: string,
  query: Record<string, string>,
): Promise<{ status: number; text: string; ms: number }> => {
  const started = performance.now()
  const { status, text } = await exchange(server.url, { path: `/api/git/${route}?${new URLSearchParams(query)}` })
  return { status, text, ms: performance.now() - started }
}

/** Everything that a command of ours could have made. */
const files = () => sh(server, 'find . "$HOME" | sort; ls -d /pwned* /tmp/pwned* 2>/dev/null; exit 0')

/** What has broken out of such strings before, each with a trace it would leave. */
const CORPUS = [
  '; touch pwned',
  '$(touch pwned)',
  '`touch pwned`',
  '\ntouch pwned\n',
  '| touch pwned',
  '& touch pwned &',
  '" ; touch pwned ; "',
  "' ; touch pwned ; '",
  '-O/pwned',
  '--output=pwned',
  '--output=/tmp/pwned',
  '--upload-pack=touch pwned',
  '--exec=touch pwned',
  '--ext-diff',
  '--textconv',
  '--help',
  '--no-index',
  '-c core.fsmonitor=touch\\ pwned',
  '-p',
  '--',
  '--end-of-options',
  'ext::sh -c "touch pwned"',
  'file:///etc/passwd',
  '../../../../../../etc/passwd',
  ':/one',
  ':/(x+x+)+y',
  'HEAD^{/(a|a)*$}',
  'HEAD@{/x}',
  'HEAD:file',
  'HEAD..HEAD',
  'HEAD --output=pwned',
  'a'.repeat(5000),
  `${'('.repeat(200)}x${')'.repeat(200)}`,
  '(x+x+)+y'.repeat(50),
  '~'.repeat(3000),
  '@{'.repeat(500),
  'HEAD\0--output=pwned',
  '%00',
  '\u202e',
  '',
]

describe('T-48: no string of a request becomes a command, an option or a pattern', () => {
  test('in every place of every route: nothing is made, nothing is run, and none of it is our fault', async () => {
    const before = await files()
    const random = new Random()
    const words = DEEP ? CORPUS : CORPUS.filter(() => random.int(6) === 0)
    const requests = words.flatMap((word): [string, Record<string, string>][] => [
      ['changes', { path: word }],
      ['changes', { path: `${path}/${word}` }],
      ['changes', { path, ref: word }],
      ['changes', { path, ref: `HEAD${word}` }],
      ['diff', { path: word }],
      ['diff', { path: `${path}/${word}` }],
      ['diff', { path: `${path}/file`, ref: word }],
      ['diff', { path: `${path}/file`, commit: word }],
      ['commits', { path: word }],
      ['commits', { path, limit: word }],
      [`commits/${encodeURIComponent(word.toWellFormed()) || 'x'}/changes`, { path }],
      ['commits/abcdef/changes', { path: word }],
    ])
    const answers = await inParallel(requests, ([route, query]) => ask(route, query), 4)
    requests.forEach((request, i) => {
      const { status, text, ms } = answers[i]!
      assert.ok(status < 500, `${JSON.stringify(request)}: ${status} ${text}`)
      assert.ok(!text.includes('root:x:'), JSON.stringify(request))
      assert.ok(ms < 10_000, `${JSON.stringify(request)} took ${ms} ms`)
    })
    const after = await files()
    assert.equal(after, before)
    assert.deepEqual(JSON.parse((await ask('changes', { path, ref: 'HEAD' })).text), [
      { status: 'UPDATED', path: 'file' },
    ])
  })

  test('a revision is a name: what searches, ranges or opens files is refused', async () => {
    for (const ref of [
      ':/one',
      'HEAD^{/one}',
      'HEAD..main',
      'HEAD:file',
      '--all',
      '-1',
      'HEAD file',
      '^HEAD',
      '@{-1 day}',
    ])
      assert.equal((await ask('changes', { path, ref })).status, 400, ref)
    for (const ref of ['HEAD', '@', 'main', 'refs/heads/main', 'HEAD~0', 'HEAD^0', 'main@{0}'])
      assert.equal((await ask('changes', { path, ref })).status, 200, ref)
  })
})

describe('T-50: a repository has nothing run when it is looked at', () => {
  const lookEverywhere = async (at: string) => {
    const { text } = await ask('commits', { path: at })
    const [{ sha }] = JSON.parse(text).commits
    const requests: [string, Record<string, string>][] = [
      ['changes', { path: at }],
      ['changes', { path: at, ref: 'HEAD' }],
      ['changes', { path: `${at}/..` }],
      ['diff', { path: `${at}/file.evil` }],
      ['diff', { path: `${at}/file.evil`, ref: 'HEAD' }],
      ['diff', { path: `${at}/file.evil`, commit: sha }],
      [`commits/${sha}/changes`, { path: at }],
      ['commits', { path: at }],
    ]
    for (const [route, query] of requests) {
      const answer = await ask(route, query)
      assert.equal(answer.status, 200, `${route} ${JSON.stringify(query)}: ${answer.text}`)
    }
    return ask('changes', { path: at, ref: 'HEAD' })
  }
  const trace = () => sh(server, 'cat hostile/trace 2>/dev/null; exit 0')

  test('hooks, monitors, drivers, filters, pagers, helpers, aliases, transports: none of them', async () => {
    await sh(server, 'mkdir -p hostile')
    const at = await repository(
      server,
      'hostile/repo',
      `seq 100 > file.evil; seq 100 > file.included; seq 9 > file.eq; printf 'a\\0' > file.bin
       git add -A; git commit -qm one
       printf '*.evil filter=evil diff=evil merge=evil\\n*.included filter=included\\n*.eq filter="e=v.il x"\\n*.bin diff=bin\\n' > .gitattributes
       printf '*.evil filter=evil diff=evil\\n' > .git/info/attributes
       ${HOSTILE}
       echo more >> file.evil; echo more >> file.included; echo more >> file.eq; printf 'b\\0' > file.bin; rm -f "$trace"`,
    )
    const { text } = await lookEverywhere(at)
    assert.equal(await trace(), '')
    assert.deepEqual(
      JSON.parse(text).map(({ path: changed }: { path: string }) => changed),
      ['.gitattributes', 'file.bin', 'file.eq', 'file.evil', 'file.included'],
    )
    // Otherwise there was nothing to be afraid of.
    await execute(server, `cd ${at}; git status; git diff; git log -p`, { timeout: 20 })
    assert.notEqual(await trace(), '')
    await sh(server, 'rm -f hostile/trace')
  })

  test('a partial clone does not fetch what it misses', async () => {
    const at = await sh(server, 'cd hostile/repo; rm -f ../trace; pwd').then(text => text.trim())
    await sh(
      server,
      `cd ${at}; GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0=false; rm -f .git/objects/$(git rev-parse HEAD:file.evil | sed 's|^..|&/|'); rm -f ../trace`,
    )
    for (const query of [
      { path: at, ref: 'HEAD' },
      { path: at, ref: 'main' },
    ])
      assert.ok((await ask('changes', query)).status < 500)
    assert.ok((await ask('diff', { path: `${at}/file.evil`, ref: 'HEAD' })).status < 500)
    assert.equal(await trace(), '')
  })

  test('nor does a submodule, a bare repository, or a repository whose configuration is broken', async () => {
    const at = await sh(server, 'cd hostile; pwd').then(text => text.trim())
    await sh(
      server,
      `cd ${at}; rm -rf outer bare broken; git init -q outer; cp -r repo outer/module; cd outer
      git -c core.fsmonitor=false update-index --add --cacheinfo 160000,$(git -C module rev-parse HEAD),module; cp -r ../repo/.git ../bare; git -C ../bare config core.bare true
      git init -q ../broken; echo '[[[' > ../broken/.git/config; rm -f ../trace`,
    )
    for (const name of ['outer', 'bare', 'broken'])
      for (const route of ['changes', 'commits', 'diff'])
        assert.ok((await ask(route, { path: `${at}/${name}` })).status < 500, `${route} ${name}`)
    assert.equal(await trace(), '')
  })
})
