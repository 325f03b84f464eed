import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Fault } from '../../src/api/errors.ts'
import { Bench, NO_REPOSITORIES, TOKEN } from '../support/repositories.ts'
import { sampled } from '../support/sampled.ts'

const COMMIT = 'git add -A; git commit -qm'
const fails = (code: string, words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof Fault, String(error))
  assert.equal(error.code, code, error.message)
  assert.match(error.message, words)
  return true
}

describe('a repository in a sandbox', { skip: NO_REPOSITORIES }, () => {
  let bench: Bench
  before(async () => {
    bench = await Bench.open()
    await bench.host.add(
      'ann/app',
      `echo one >file; ${COMMIT} one; echo two >file; ${COMMIT} two; git tag v1 HEAD~1; git tag -am said v2
       git checkout -q -b feature/a.b/c; echo feature >file; ${COMMIT} feature; git checkout -q main`,
    )
    await bench.host.add('ann/empty')
    await bench.host.add('ann/private', `echo hidden >file; ${COMMIT} one`, { token: TOKEN })
  })
  after(() => bench[Symbol.asyncDispose]())
  const look = (folder: string, script: string) => bench.sh(`cd ${folder}; ${script}`)
  const alike = sampled(3)
  const LEFT = 'ls -A .. | grep gantry; exit 0'

  test('is fetched, without history, on a branch of its own from the default one', async () => {
    const order = bench.order('ann/app', { identity: { name: "-Ann O'Neil", email: 'ann@example.org' } })
    const { outcome, detail } = await bench.prepare(order)
    assert.deepEqual([outcome, detail], ['done', 'ann/app, on the new branch openhands-workspace-1 from main'])
    const seen = await look(
      order.folder,
      `cat file; git status -sb; git log --oneline | wc -l; git config user.name; git rev-parse --abbrev-ref origin/HEAD; ${LEFT}`,
    )
    assert.deepEqual(seen.split('\n'), ['two', '## openhands-workspace-1', '1', "-Ann O'Neil", 'origin/main'])
  })

  alike('is fetched with all its history and branches where that is wanted', async () => {
    const order = bench.order('ann/app', { fullHistory: true })
    await bench.prepare(order)
    const seen = await look(order.folder, 'git log --oneline | wc -l; git branch -r --format="%(refname)"; git tag')
    assert.deepEqual(seen.split('\n'), [
      '2',
      'refs/remotes/origin/HEAD',
      'refs/remotes/origin/feature/a.b/c',
      'refs/remotes/origin/main',
      'v1',
      'v2',
    ])
  })

  alike('is on the branch that was named, which follows the remote one; slashes and all', async () => {
    for (const fullHistory of [false, true]) {
      const order = bench.order('ann/app', { branch: 'feature/a.b/c', fullHistory })
      assert.equal((await bench.prepare(order)).detail, 'ann/app, on feature/a.b/c')
      const seen = await look(order.folder, 'cat file; git status -sb; git fetch -q 2>&1; exit 0')
      assert.equal(seen, 'feature\n## feature/a.b/c...origin/feature/a.b/c')
    }
  })

  alike('is on a branch of its own from the tag that was named, be it annotated or not', async () => {
    for (const [branch, content] of [
      ['v1', 'one'],
      ['v2', 'two'],
    ] as const) {
      const order = bench.order('ann/app', { branch })
      assert.match((await bench.prepare(order)).detail!, new RegExp(`new branch openhands-workspace-1 from ${branch}`))
      assert.equal(
        await look(order.folder, 'cat file; git symbolic-ref --short HEAD'),
        `${content}\nopenhands-workspace-1`,
      )
    }
  })

  alike('that has no such branch is refused by the name of the branch, and leaves nothing', async () => {
    const order = bench.order('ann/app', { branch: 'absent' })
    await assert.rejects(bench.prepare(order), fails('branch_not_found', /ann\/app has no branch or tag named absent/))
    await assert.rejects(bench.prepare(bench.order('ann/empty', { branch: 'main' })), fails('branch_not_found', /main/))
    assert.equal(await bench.sh(`ls -A ${order.folder}/.. 2>/dev/null; exit 0`), '')
  })

  alike('that is empty is there, and can be pushed to', async () => {
    const order = bench.order('ann/empty', { identity: { name: 'Ann', email: 'a@b' } })
    assert.match((await bench.prepare(order)).detail!, /is empty/)
    const seen = await look(
      order.folder,
      'git status -sb; echo 1 >file; git add file; git commit -qm one; git push -q origin HEAD 2>&1; git ls-remote --heads origin',
    )
    assert.match(seen, /^## No commits yet on openhands-workspace-1\n[0-9a-f]{40}\trefs\/heads\/openhands-workspace-1$/)
  })

  test('that nobody named is a new one in the folder, unless that holds something', async () => {
    const order = bench.order('ann/app', { identity: { name: 'Ann', email: 'a@b' } })
    const nothing = { ...order, remote: null }
    assert.equal((await bench.prepare(nothing)).outcome, 'done')
    assert.equal(
      await look(order.folder, 'git rev-parse --show-toplevel; git config user.email'),
      `${order.folder}\na@b`,
    )
    await look(order.folder, 'rm -r .git/objects .git/HEAD')
    assert.equal((await bench.prepare(nothing)).outcome, 'done')
    await look(order.folder, 'git rev-parse --git-dir && echo mine >file')
    assert.equal((await bench.prepare(nothing)).outcome, 'skipped')
  })

  alike('is recognised when it is there; a folder with something else is refused and left as it is', async () => {
    const order = bench.order('ann/app')
    await bench.prepare(order)
    await look(order.folder, 'echo mine >file')
    assert.equal((await bench.prepare(order)).outcome, 'skipped')
    assert.equal(await look(order.folder, 'cat file'), 'mine')
    await assert.rejects(
      bench.prepare({ ...bench.order('ann/private'), folder: order.folder }),
      fails('repository_failed', /another repository/),
    )
    const other = bench.order('ann/app')
    await bench.sh(`mkdir -p ${other.folder}; echo mine >${other.folder}/file`)
    await assert.rejects(bench.prepare(other), fails('repository_failed', /holds other files/))
    assert.equal(await look(other.folder, 'ls -A'), 'file')
  })

  test('that is private opens to its token, also for a push by a command that was given it, and to no other', async () => {
    const order = bench.order('ann/private', { token: TOKEN, identity: { name: 'Ann', email: 'a@b' } })
    await bench.prepare(order)
    const push = 'git commit -q --allow-empty -m two; GIT_TERMINAL_PROMPT=0 git push origin HEAD 2>&1; exit 0'
    assert.match(await look(order.folder, push), /terminal prompts disabled/)
    assert.match(await look(order.folder, `export GITHUB_TOKEN='${TOKEN}'; ${push}`), /new branch/)
    await assert.rejects(
      bench.prepare(bench.order('ann/private', { token: 'wrong' })),
      fails('repository_not_found', /to the token GITHUB_TOKEN/),
    )
    await assert.rejects(
      bench.prepare(bench.order('ann/private')),
      fails('repository_not_found', /a github token must be added/),
    )
    await assert.rejects(
      bench.prepare(bench.order('ann/absent', { token: TOKEN })),
      fails('repository_not_found', /shows no repository ann\/absent/),
    )
  })
})
