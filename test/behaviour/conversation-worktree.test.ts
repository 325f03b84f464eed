import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { hexUuid, newId } from '../../src/lib/id.ts'
import { prepareWorktree } from '../../src/repository/conversation-worktree.ts'
import { IDENTITY } from '../support/git.ts'
import { Bench, NO_REPOSITORIES } from '../support/repositories.ts'
import { anOrder, TestServer } from '../support/server.ts'

describe('a worktree for a conversation', { skip: NO_REPOSITORIES }, () => {
  let bench: Bench
  before(async () => {
    bench = await Bench.open()
    await bench.host.add('ann/app', 'mkdir sub; echo one >sub/file; git add -A; git commit -qm one')
  })
  after(() => bench[Symbol.asyncDispose]())
  const root = '/tmp/conversation-worktrees'
  const prepare = (folder: string, id = newId()) =>
    prepareWorktree(bench.sandbox, folder, id, { root, signal: new AbortController().signal })

  test('is none where the folder is not there, is in no repository, or in one without a commit', async () => {
    const fresh = `/workspace/${newId()}`
    assert.equal(await prepare(fresh), null)
    await bench.sh(`mkdir ${fresh}`)
    assert.equal(await prepare(fresh), null)
    await bench.sh(`git init -q ${fresh}`)
    assert.equal(await prepare(fresh), null)
    assert.equal(await bench.sh(`ls -A ${fresh}; ls ${root} 2>/dev/null; exit 0`), '.git')
  })

  test('begins with what is newest on the remote, keeps the place within it, and leaves the repository alone', async () => {
    const order = bench.order('ann/app')
    await bench.prepare(order)
    await bench.host.change('ann/app', 'echo two >sub/file; git commit -qam two')
    await bench.sh(`cd ${order.folder}; echo mine >sub/file`)
    const id = newId()
    const made = await prepare(`${order.folder}/sub`, id)
    assert.deepEqual(made, { workingDir: `${root}/${hexUuid(id)}/app/sub`, branch: `openhands/${hexUuid(id)}` })
    assert.equal(
      await bench.sh(`cd ${made!.workingDir}; cat file; git symbolic-ref --short HEAD`),
      `two\n${made!.branch}`,
    )
    assert.equal(
      await bench.sh(`cd ${order.folder}; cat sub/file; git symbolic-ref --short HEAD`),
      `mine\n${order.workBranch}`,
    )
    await bench.sh(`cd ${made!.workingDir}; echo begun >file`)
    assert.deepEqual(await prepare(`${order.folder}/sub`, id), made)
    assert.equal(await bench.sh(`cat ${made!.workingDir}/file`), 'begun')
  })

  test('begins with what there is where there is no remote, or one that is not to be reached', async () => {
    const folder = `/workspace/${newId()}`
    await bench.sh(
      `${IDENTITY}; git init -q -b trunk ${folder}; cd ${folder}; echo here >file; git add file; git commit -qm one`,
    )
    const made = await prepare(folder)
    assert.equal(await bench.sh(`cat ${made!.workingDir}/file`), 'here')
    await bench.sh(`cd ${folder}; git remote add origin http://other.test/x.git`)
    assert.notEqual(await prepare(folder), null)
  })
})

test('an order with `worktree` works in one of its own, is told so, and a fresh folder stays as it is', {
  skip: NO_REPOSITORIES,
}, async () => {
  await using server = await TestServer.start()
  const run = async (command: string) => {
    const { stdout, exit_code } = await server.client.executeBashCommand({ body: { command } })
    assert.equal(exit_code, 0, stdout ?? '')
    return (stdout ?? '').trim()
  }
  const who = '-c user.name=a -c user.email=b'
  await run(
    `mkdir -p /workspace/repo && cd /workspace/repo && git init -qb main && git ${who} commit -q --allow-empty -m x`,
  )
  const order = (working_dir: string) =>
    server.client.startConversation({ body: anOrder({ workspace: { working_dir }, worktree: true }) })
  const { id, workspace } = await order('/workspace/repo')
  const hex = hexUuid(id)
  assert.equal(workspace.working_dir, `/tmp/conversation-worktrees/${hex}/repo`)
  assert.equal(await run(`git -C ${workspace.working_dir} branch --show-current`), `openhands/${hex}`)
  assert.equal((await order('/workspace/fresh')).workspace.working_dir, '/workspace/fresh')
})
