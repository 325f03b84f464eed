import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { GitChange } from '../../src/api/git.ts'
import { sh } from '../support/bash.ts'
import { IDENTITY, repository } from '../support/git.ts'
import { TestServer } from '../support/server.ts'

let server: TestServer
before(async () => {
  server = await TestServer.start()
})
after(() => server[Symbol.asyncDispose]())

const changes = (path: string, ref?: string) => server.client.gitChanges({ query: { path, ref: ref ?? null } })
const diff = (path: string, more: { ref?: string; commit?: string } = {}) =>
  server.client.gitDiff({ query: { path, ...more } })
const commits = (path: string, limit = 50) => server.client.gitCommits({ query: { path, limit } })
const commitChanges = (path: string, sha: string) =>
  server.client.gitCommitChanges({ params: { sha }, query: { path } })
const refused = (promise: Promise<unknown>): Promise<number> =>
  promise.then(
    answer => assert.fail(`it was not refused: ${JSON.stringify(answer).slice(0, 200)}`),
    error => error.status,
  )
const said = (list: GitChange[]) => list.map(({ status, path }) => `${status} ${path}`)

describe('what has changed', () => {
  test('against a revision: changed, added, deleted, moved, untracked; ignored files are left out', async () => {
    const path = await repository(
      server,
      'changed',
      `seq 50 > moved; seq 9 > kept; echo a > changed; echo b > deleted; echo c > type; echo '*.log' > .gitignore
       mkdir -p sub/deep; echo d > sub/deep/file
       git add -A; git commit -qm one
       git mv moved "moved to"; rm deleted; echo more >> changed; rm type; ln -s kept type
       echo e > added; git add added; echo f > untracked; echo g > ignored.log; touch kept; echo h >> sub/deep/file`,
    )
    assert.deepEqual(said(await changes(path, 'HEAD')), [
      'ADDED added',
      'UPDATED changed',
      'DELETED deleted',
      'MOVED moved to',
      'UPDATED sub/deep/file',
      'UPDATED type',
      'ADDED untracked',
    ])
    assert.deepEqual(said(await changes(`${path}/sub`, 'HEAD')), ['UPDATED deep/file'])
    assert.deepEqual(said(await changes('changed/sub/deep', 'main')), ['UPDATED file'])
    assert.equal(await sh(server, `cd ${path}; git status --porcelain | wc -l`), '7\n')
  })

  test('without one: against the upstream, the remote default branch, or nothing', async () => {
    const origin = await repository(server, 'origin', 'echo 1 > one; git add -A; git commit -qm one')
    await sh(
      server,
      `git clone -q ${origin} clone; cd clone; ${IDENTITY}; echo 2 > two; git add -A; git commit -qm two`,
    )
    assert.deepEqual(said(await changes('clone')), ['ADDED two'])
    await sh(server, 'cd clone; git checkout -q -b work; echo 3 > three')
    assert.deepEqual(said(await changes('clone')), ['ADDED three', 'ADDED two'])
    await sh(
      server,
      `cd ${origin}; ${IDENTITY}; echo 9 > nine; git add -A; git commit -qm nine; cd ../clone; git fetch -q`,
    )
    assert.deepEqual(said(await changes('clone')), ['ADDED three', 'ADDED two'])
    assert.deepEqual(said(await changes(origin)), ['ADDED nine', 'ADDED one'])
  })

  test('before the first commit everything is new', async () => {
    const path = await repository(server, 'unborn', 'echo 1 > staged; git add staged; echo 2 > other')
    assert.deepEqual(said(await changes(path)), ['ADDED other', 'ADDED staged'])
    assert.deepEqual(await commits(path), { commits: [], has_more: false })
    assert.equal(await refused(changes(path, 'HEAD')), 400)
    assert.deepEqual(await diff(`${path}/other`), { modified: '2\n', original: '' })
  })

  test('in no repository, nothing', async () => {
    await sh(server, 'mkdir -p plain; echo 1 > plain/file')
    for (const path of ['plain', 'plain/file', 'nowhere', '/nowhere/at/all', '/']) {
      assert.deepEqual(await changes(path), [], path)
      assert.deepEqual(await commits(path), { commits: [], has_more: false }, path)
      assert.deepEqual(await commitChanges(path, 'abcdef'), [], path)
    }
    assert.deepEqual(await diff('plain/file'), { modified: null, original: null })
    assert.equal(await refused(diff('plain/nothing')), 400)
  })

  test('repositories directly below a folder are looked into, each for itself', async () => {
    await sh(server, 'mkdir -p several/empty')
    await repository(server, 'several/one', 'echo 1 > a; git add -A; git commit -qm one; echo 2 > b')
    await repository(server, 'several/one more', 'echo 1 > a').catch(() => undefined)
    await sh(server, 'mkdir -p "several/t wo" && cd "several/t wo" && git init -q . && echo 1 > x')
    assert.deepEqual(said(await changes('several')), ['ADDED one/a', 'ADDED one/b', 'ADDED t wo/x'])
    await sh(server, 'cd several; git init -q .; echo 1 > own; echo 1 > one-beside')
    assert.deepEqual(said(await changes('several')), [
      'ADDED one-beside',
      'ADDED one/a',
      'ADDED one/b',
      'ADDED own',
      'ADDED t wo/x',
    ])
  })

  test('names are names, whatever is in them', async () => {
    const names = [
      '-dash',
      '--help',
      'new\nline',
      'quo"te',
      "apo'strophe",
      'back\\slash',
      'ünï😀',
      ' space ',
      'tab\t',
      ':colon',
      '*',
      '$(x)',
    ]
    const literal = (name: string) => `'${name.replaceAll("'", "'\\''")}'`
    const path = await repository(
      server,
      'names',
      `${names.map(name => `printf old > ./${literal(name)}`).join('\n')}
       git add -A; git commit -qm names
       ${names.map(name => `printf new > ./${literal(name)}`).join('\n')}`,
    )
    const found = await changes(path, 'HEAD')
    assert.deepEqual(found.map(change => change.path).toSorted(), names.toSorted())
    for (const name of names) {
      assert.deepEqual(await diff(`${path}/${name}`, { ref: 'HEAD' }), { modified: 'new', original: 'old' }, name)
      assert.deepEqual(await diff(`${path}/${name}`), { modified: 'new', original: '' }, name)
    }
  })

  test('a submodule directly below is looked into, one further down is one change', async () => {
    const inner = await repository(server, 'inner', 'echo 1 > a; git add -A; git commit -qm one')
    const path = await repository(
      server,
      'outer',
      `add="git -c protocol.file.allow=always submodule --quiet add"; $add ${inner} module; $add ${inner} deep/module
       git commit -qm with; echo dirt >> module/a; echo dirt >> deep/module/a`,
    )
    assert.deepEqual(said(await changes(path, 'HEAD')), ['UPDATED module/a'])
    await sh(server, `${IDENTITY}; cd ${path}/deep/module; git commit -qam two`)
    assert.deepEqual(said(await changes(path, 'HEAD')), ['UPDATED deep/module', 'UPDATED module/a'])
  })
})

describe('a file, now and before', () => {
  test('against a revision, and across a commit', async () => {
    const path = await repository(
      server,
      'diffed',
      `printf one > file; mkdir -p d; echo x > d/gone; git add -A; git commit -qm one
       printf two > file; git rm -q d/gone; git commit -qam two; printf three > file; ln -s file link`,
    )
    const [second, first] = (await commits(path)).commits
    assert.deepEqual(await diff(`${path}/file`, { ref: 'HEAD' }), { modified: 'three', original: 'two' })
    assert.deepEqual(await diff('diffed/file', { ref: 'HEAD~1' }), { modified: 'three', original: 'one' })
    assert.deepEqual(await diff(`${path}/file`, { commit: second!.sha }), { modified: 'two', original: 'one' })
    assert.deepEqual(await diff(`${path}/file`, { commit: first!.short_sha }), { modified: 'one', original: '' })
    assert.deepEqual(await diff(`${path}/d/gone`, { ref: first!.sha }), { modified: '', original: 'x\n' })
    assert.deepEqual(await diff(`${path}/d/gone`, { commit: second!.sha }), { modified: '', original: 'x\n' })
    assert.deepEqual(await diff(`${path}/link`), { modified: 'file', original: '' })
    for (const bad of [
      () => diff(`${path}/file`, { ref: 'HEAD', commit: second!.sha }),
      () => diff(`${path}/file`, { ref: 'nothing' }),
      () => diff(`${path}/file`, { commit: 'abcdef' }),
      () => diff(`${path}/nothing`),
      () => diff(`${path}/d/gone`, { ref: 'HEAD' }),
      () => diff(path),
    ])
      assert.equal(await refused(bad()), 400)
    for (const commit of ['xyz', 'abc', 'g'.repeat(40), '-1234', 'HEAD'])
      assert.equal(await refused(diff(`${path}/file`, { commit })), 422)
  })

  test('what is no text is null; what is nearly text is shown; what is too large is refused', async () => {
    const path = await repository(
      server,
      'contents',
      String.raw`printf 'a\0b' > binary; printf 'caf\351' > latin; printf '\357\273\277bom\r\n' > bom; : > empty
       head -c 1048577 /dev/zero | tr '\0' x > large; head -c 1048576 /dev/zero | tr '\0' x > fits
       git add -A; git commit -qm all; printf text > binary`,
    )
    assert.deepEqual(await diff(`${path}/binary`, { ref: 'HEAD' }), { modified: 'text', original: null })
    assert.deepEqual(await diff(`${path}/latin`, { ref: 'HEAD' }), { modified: 'caf\ufffd', original: 'caf\ufffd' })
    assert.deepEqual(await diff(`${path}/bom`, { ref: 'HEAD' }), {
      modified: '\ufeffbom\r\n',
      original: '\ufeffbom\r\n',
    })
    assert.deepEqual(await diff(`${path}/empty`, { ref: 'HEAD' }), { modified: '', original: '' })
    assert.equal((await diff(`${path}/fits`)).modified?.length, 1024 * 1024)
    assert.equal(await refused(diff(`${path}/large`)), 400)
    await sh(server, `cd ${path}; rm large; mkfifo pipe`)
    assert.equal(await refused(diff(`${path}/large`, { ref: 'HEAD' })), 400)
    assert.equal(await refused(diff(`${path}/pipe`)), 400)
  })
})

describe('the history', () => {
  test('newest first, so many, and whether there is more', async () => {
    const path = await repository(
      server,
      'history',
      `for i in 1 2 3 4 5; do echo $i > file; git add -A; GIT_AUTHOR_DATE="2026-01-0$i 12:00:00 +0100" git commit -qm "commit $i

body"; done; git commit -q --allow-empty --allow-empty-message -m ''`,
    )
    const { commits: all, has_more } = await commits(path)
    assert.equal(has_more, false)
    assert.deepEqual(
      all.map(({ subject }) => subject),
      ['', 'commit 5', 'commit 4', 'commit 3', 'commit 2', 'commit 1'],
    )
    const { sha, short_sha, ...rest } = all[5]!
    assert.match(sha, /^[0-9a-f]{40}$/)
    assert.ok(sha.startsWith(short_sha))
    assert.deepEqual(rest, { subject: 'commit 1', author: 'Ann', timestamp: '2026-01-01T12:00:00+01:00' })
    assert.deepEqual(await commits(path, 6), { commits: all, has_more: false })
    assert.deepEqual(await commits(path, 2), { commits: all.slice(0, 2), has_more: true })
    for (const limit of [0, 201]) assert.equal(await refused(commits(path, limit)), 422)
  })

  test('what a commit changed, the first and a merge too', async () => {
    const path = await repository(
      server,
      'merged',
      `seq 50 > a; git add -A; git commit -qm one; git checkout -q -b side; echo 2 > b; git add -A; git commit -qm side
       git checkout -q main; git mv a c; git commit -qm moved; git merge -q --no-edit side`,
    )
    const { commits: all } = await commits(path)
    const bySubject = (subject: string) => all.find(commit => commit.subject.startsWith(subject))!.sha
    assert.deepEqual(said(await commitChanges(path, bySubject('one'))), ['ADDED a'])
    assert.deepEqual(said(await commitChanges(path, bySubject('moved'))), ['MOVED c'])
    assert.deepEqual(said(await commitChanges(path, bySubject('Merge'))), ['ADDED b'])
    assert.equal(await refused(commitChanges(path, 'abcdef')), 400)
    for (const sha of ['xyz1', 'abc', '-abcd']) assert.equal(await refused(commitChanges(path, sha)), 422)
  })
})
