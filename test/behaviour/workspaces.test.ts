import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ClientError } from '../../src/api/client.ts'
import { MAX_WORKSPACES } from '../../src/api/workspaces.ts'
import { TestServer } from '../support/server.ts'

let server: TestServer
before(async () => {
  server = await TestServer.start()
})
after(() => server[Symbol.asyncDispose]())

const workspace = (path: string, more: object = {}) => ({ id: path, name: path, path, ...more })
const refused = (status: number, detail?: string) => (error: unknown) =>
  error instanceof ClientError &&
  error.status === status &&
  (detail === undefined || (error.body as { detail: string }).detail === detail)

describe('saved workspaces', () => {
  test('are none at first', async () => {
    assert.deepEqual(await server.anonymous.listWorkspaces(), { workspaces: [], workspaceParents: [] })
  })

  test('are kept in order, once a path, and the first stays', async () => {
    const { client } = server
    await client.addWorkspaces({ body: { workspaces: [workspace('/b', { parentPath: '/' }), workspace('/a')] } })
    const list = await client.addWorkspaces({
      body: { workspaces: [workspace('/b', { name: 'other' }), workspace('/c')] },
    })
    const saved = [
      { id: '/b', name: '/b', path: '/b', parentPath: '/' },
      { id: '/a', name: '/a', path: '/a', parentPath: null },
      { id: '/c', name: '/c', path: '/c', parentPath: null },
    ]
    assert.deepEqual(list, { workspaces: saved, workspaceParents: [] })
    const parents = await client.addWorkspaceParents({ body: { parents: [workspace('/p'), workspace('/p')] } })
    assert.deepEqual(parents.workspaceParents, [{ id: '/p', name: '/p', path: '/p' }])
    assert.deepEqual(await client.listWorkspaces(), parents)
  })

  test('are forgotten by path', async () => {
    const { client } = server
    assert.deepEqual(await client.deleteWorkspace({ query: { path: '/a' } }), { deleted: true })
    assert.deepEqual(await client.deleteWorkspaceParent({ query: { path: '/p' } }), { deleted: true })
    await assert.rejects(client.deleteWorkspace({ query: { path: '/a' } }), refused(404, 'Workspace not found'))
    await assert.rejects(
      client.deleteWorkspaceParent({ query: { path: '/p' } }),
      refused(404, 'Workspace parent not found'),
    )
    const { workspaces, workspaceParents } = await client.listWorkspaces()
    assert.deepEqual([workspaces.map(({ path }) => path), workspaceParents], [['/b', '/c'], []])
  })

  test('are added with the key alone, for a folder of this machine may be granted by it', async () => {
    await assert.rejects(server.anonymous.addWorkspaces({ body: { workspaces: [workspace('/x')] } }), refused(401))
    await assert.rejects(server.anonymous.addWorkspaceParents({ body: { parents: [workspace('/x')] } }), refused(401))
  })

  test('are as many as a picker can hold, and have names', async () => {
    const { client } = server
    const many = Array.from({ length: MAX_WORKSPACES }, (_, i) => workspace(`/many/${i}`))
    await assert.rejects(client.addWorkspaces({ body: { workspaces: many } }), refused(422))
    await client.addWorkspaces({ body: { workspaces: many.slice(2) } })
    await assert.rejects(client.addWorkspaces({ body: { workspaces: many } }), refused(422))
    for (const wrong of [{ name: '' }, { path: '' }, { id: 'x'.repeat(4097) }, { name: 'x'.repeat(257) }])
      await assert.rejects(client.addWorkspaces({ body: { workspaces: [workspace('/y', wrong)] } }), refused(422))
  })

  test('are there after a restart, and lose nothing to each other', async () => {
    await using first = await TestServer.start()
    const paths = Array.from({ length: 20 }, (_, i) => `/w${i}`)
    await Promise.all(paths.map(path => first.client.addWorkspaces({ body: { workspaces: [workspace(path)] } })))
    await first.stop('SIGKILL')
    await using again = await TestServer.start({ data: first.data })
    const { workspaces } = await again.client.listWorkspaces()
    assert.deepEqual(workspaces.map(({ path }) => path).toSorted(), paths.toSorted())
  })
})
