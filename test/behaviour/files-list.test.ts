import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { FolderEntry } from '../../src/api/files.ts'
import { LISTED } from '../../src/sandbox/listing.ts'
import { KEY } from '../support/access.ts'
import { RemoteFiles } from '../support/files.ts'
import { Box, NO_WALLS } from '../support/hands.ts'
import { TestServer } from '../support/server.ts'

let server: TestServer
let files: RemoteFiles
before(async () => {
  server = await TestServer.start({ args: ['--log-level', 'error'], env: { SESSION_API_KEY: KEY } })
  files = await RemoteFiles.in(server)
})
after(() => server[Symbol.asyncDispose]())

const list = (path: string) => server.client.listFolder({ query: { path } })
const brief = ({ name, kind, link, size }: FolderEntry): string =>
  [JSON.stringify(name), kind, ...(link ? ['link'] : []), ...(size === null ? [] : [size])].join(' ')

describe('a folder, listed', () => {
  test('tells directories first and the rest by name, in any case, hidden ones too', async () => {
    await files.shell(`mkdir order; cd order; mkdir Zoo alpha .git; printf four > Beta; printf '' > alpha.txt; touch .env 10 9
      mkfifo pipe; ln -s Zoo to-folder; ln -s Beta to-file; ln -s nowhere dangling; ln -s round round`)
    const { path, items, cut } = await list(files.at('order/../order/'))
    assert.deepEqual([path, cut], [files.at('order'), false])
    assert.deepEqual(items.map(brief), [
      '".git" directory',
      '"alpha" directory',
      '"to-folder" directory link',
      '"Zoo" directory',
      '".env" file 0',
      '"10" file 0',
      '"9" file 0',
      '"alpha.txt" file 0',
      '"Beta" file 4',
      '"dangling" other link',
      '"pipe" other',
      '"round" other link',
      '"to-file" file link 4',
    ])
  })

  test('keeps names of every kind whole, except those that are no UTF-8', async () => {
    const names = [
      '-',
      '--help',
      '-L',
      '\nfirst',
      'last\n',
      'a\n81a4 1 1 .',
      '"\'`$(id)\\',
      '* ?[a]',
      'ä 🙂',
      '\t\u001b[31m',
      '@',
      '...',
    ]
    const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
    const writes = names.map(name => `printf %s ${quoted(name)} > ./${quoted(name)}`)
    await files.shell(`mkdir names; cd names; ${writes.join('\n')}
      printf x > "$(printf 'bad\\377')"; ln -s -- -L ${quoted('link\n')}`)
    const { items } = await list(files.at('names'))
    assert.deepEqual(items.map(({ name }) => name).toSorted(), [...names, 'link\n'].toSorted())
    for (const { name, kind, link, size } of items)
      assert.deepEqual([kind, size], ['file', link ? 2 : Buffer.byteLength(name)], JSON.stringify(name))
  })

  test('tells when each was changed, and nothing where that is no date', { skip: NO_WALLS }, async () => {
    await files.shell(`mkdir /dev/shm/times; cd /dev/shm/times; touch -d @1700000000 stamped; ln -s stamped link
      touch -d @-86400 before; touch -d @999999999999999 never`)
    const { items } = await list('/dev/shm/times')
    assert.deepEqual(Object.fromEntries(items.map(({ name, modified }) => [name, modified])), {
      before: '1969-12-31T00:00:00.000000Z',
      link: '2023-11-14T22:13:20.000000Z',
      never: null,
      stamped: '2023-11-14T22:13:20.000000Z',
    })
  })

  test('of very many entries the first are told, and that there are more', async () => {
    await files.shell(`mkdir many; cd many; seq -f %05g ${LISTED + 1} | xargs touch; mkdir zz`)
    const { items, cut } = await list(files.at('many'))
    assert.deepEqual([items.length, items[0]!.name, items[1]!.name, cut], [LISTED, 'zz', '00001', true])
    await files.shell('cd many; rm 00001; rmdir zz')
    const all = await list(files.at('many'))
    assert.deepEqual([all.items.length, all.items.at(-1)!.name, all.cut], [LISTED, `0${LISTED + 1}`, false])
  })

  test('an empty one is empty, and what cannot be listed says why', async () => {
    await files.shell('mkdir empty; echo x > plain')
    assert.deepEqual((await list(files.at('empty'))).items, [])
    const cases: [string, number, string][] = [
      ['relative', 400, 'Path must be absolute'],
      [files.at('plain'), 400, 'Path is not a directory'],
      [files.at('missing'), 404, 'Directory not found'],
      [files.at('plain/below'), 404, 'Directory not found'],
    ]
    for (const [path, status, detail] of cases) {
      const answer = await files.send({ path: `/api/file/list?path=${encodeURIComponent(path)}` })
      assert.deepEqual([answer.status, JSON.parse(`${answer.body}`).detail], [status, detail], path)
    }
    assert.equal((await files.send({ path: '/api/file/list' })).status, 422)
  })

  test('is of the sandbox whose key is brought, and leaves no trace in its log', { skip: NO_WALLS }, async () => {
    const box = await Box.start(server)
    await box.sh('echo mine > /tmp/only-here')
    const { items: before } = await box.client.searchBashEvents()
    const names = (await box.client.listFolder({ query: { path: '/tmp' } })).items.map(({ name }) => name)
    assert.ok(names.includes('only-here'))
    assert.ok(!(await list('/tmp')).items.some(({ name }) => name === 'only-here'))
    assert.equal((await box.client.searchBashEvents()).items.length, before.length)
  })
})

describe('a folder, listed where nothing isolates', () => {
  test('no link tells anything of what is outside', async () => {
    await using plain = await TestServer.start({
      args: ['--log-level', 'error'],
      env: { SESSION_API_KEY: KEY, GANTRY_SANDBOX_SPECS: JSON.stringify([{ id: 'plain', backend: 'process' }]) },
    })
    const own = await RemoteFiles.in(plain)
    await own.shell(`mkdir in; printf abc > in/f; ln -s / top; ln -s /etc/passwd key; ln -s in near; ln -s in/f 'f
      ' ; ln -s nowhere dangling; ln -s .. parent`)
    const { items } = await plain.client.listFolder({ query: { path: own.folder } })
    assert.deepEqual(items.map(brief), [
      '"in" directory',
      '"near" directory link',
      '"parent" directory link',
      '"dangling" other link',
      '"f\\n      " file link 3',
      '"key" other link',
      '"top" other link',
    ])
    for (const path of ['/etc', '/', plain.data, own.at('top'), own.at('top/etc')]) {
      const answer = await own.send({ path: `/api/file/list?path=${encodeURIComponent(path)}` })
      assert.deepEqual(
        [answer.status, JSON.parse(`${answer.body}`).detail],
        [400, 'Path is outside the workspace'],
        path,
      )
    }
  })
})
