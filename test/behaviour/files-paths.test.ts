import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { KEY } from '../support/access.ts'
import { inParallel } from '../support/exchange.ts'
import { type Bytes, multipart, RemoteFiles } from '../support/files.ts'
import { escapes } from '../support/paths.ts'
import { Random } from '../support/random.ts'
import { anOrder, count, TestServer } from '../support/server.ts'

const random = new Random()
const CASES = count({ sample: 60, deep: 4000 })
const CANARY = `canary-${randomBytes(12).toString('hex')}`

let server: TestServer
let files: RemoteFiles
/** The workspace; canaries lie beside it, and in a folder whose name begins like its own. */
let root: string
let workspace: string
before(async () => {
  server = await TestServer.start({ args: ['--log-level', 'error'], env: { SESSION_API_KEY: KEY } })
  files = await RemoteFiles.in(server)
  root = files.at('area/work')
  await files.upload(files.at('area/canary.txt'), CANARY)
  await files.upload(files.at('area/work-2/canary.txt'), CANARY)
  await files.upload(files.at('area/canary/index.html'), CANARY)
  await files.upload(`${root}/sub/deep/file.txt`, 'inside')
  await files.shell(`cd area/work
    ln -s ../canary.txt link; ln -s .. up; ln -s ../../.. sub/up; ln -s link chain; ln -s ../canary index.html
    ln -s ../canary sub/index.html; mkdir hop; ln -s ../up hop/up; ln -s "$PWD/../canary.txt" absolute`)
  const { id } = await server.client.startConversation({ body: anOrder({ workspace: { working_dir: root } }) })
  workspace = `/api/conversations/${id}/workspace`
})
after(() => server[Symbol.asyncDispose]())

const OUTSIDE = ['canary.txt', 'work-2/canary.txt', 'canary/index.html', 'canary', 'canary/']

/** Neither our fault, nor what it must not tell. */
function judge(what: string, { status, body }: Bytes, allowed: number[]): string[] {
  if (body.includes(CANARY)) return [`${what}: told what is outside (${status})`]
  return allowed.includes(status) ? [] : [`${what}: ${status} ${body.toString().slice(0, 200)}`]
}

describe('T-47: nothing leads out of a workspace', () => {
  test(`${CASES} paths (seed ${random.seed})`, async () => {
    const paths = escapes({ root, outside: OUTSIDE }, random, CASES)
    const answers = await inParallel(paths, async path => {
      const target = `${workspace}/${path}`
      if (target.length > 15_000) return []
      return judge(path, await files.send({ path: target }), [200, 307, 400, 404])
    })
    assert.deepEqual(answers.flat(), [])
    const inside = await files.send({ path: `${workspace}/sub/deep/../deep/file.txt` })
    assert.equal(inside.body.toString(), 'inside', 'otherwise nothing was tested')
  })

  test('links, chains of links and the index of a directory are judged by where they end', async () => {
    for (const path of [
      'link',
      'chain',
      'absolute',
      'up/canary.txt',
      'hop/up/canary.txt',
      '',
      'sub',
      'sub/',
      'index.html',
    ]) {
      const answer = await files.send({ path: `${workspace}/${path}` })
      assert.deepEqual(judge(path, answer, [400, 404]), [])
    }
  })

  test('even while a link is swapped under the reader', async () => {
    await files.upload(`${root}/swap/good.txt`, 'inside')
    const until = count({ sample: 2, deep: 30 })
    const swapping = files.shell(`cd area/work/swap; end=$(($(date +%s) + ${until})); while [ $(date +%s) -lt $end ]; do
      i=0; while [ $i -lt 50 ]; do i=$((i+1)); ln -sfn good.txt s; ln -sfn ../../canary.txt s; ln -sfn . d; ln -sfn ../.. d; done; done`)
    let over = false
    void swapping.finally(() => {
      over = true
    })
    const seen: Bytes[] = []
    while (!over) {
      const paths = ['swap/s', 'swap/d/good.txt', 'swap/d/canary.txt', 'swap/s']
      seen.push(...(await Promise.all(paths.map(path => files.send({ path: `${workspace}/${path}` })))))
    }
    await swapping
    assert.deepEqual(
      seen.flatMap(answer => judge('swap', answer, [200, 400, 404])),
      [],
    )
    const statuses = new Set(seen.map(({ status }) => status))
    assert.ok(statuses.has(200) && statuses.has(400), `both sides of it were met: ${[...statuses]}`)
  })
})

/** Every route that takes a path, asked in a way that would work. */
const routes: { name: string; writes: boolean; ask(path: string): Promise<Bytes> }[] = [
  { name: 'download', writes: false, ask: path => files.send({ path: `/api/file/download?path=${path}` }) },
  { name: 'subdirs', writes: false, ask: path => files.send({ path: `/api/file/search_subdirs?path=${path}` }) },
  { name: 'list', writes: false, ask: path => files.send({ path: `/api/file/list?path=${path}` }) },
  { name: 'tar', writes: false, ask: path => files.send({ path: `/api/file/archive?format=tar.gz&path=${path}` }) },
  { name: 'delta', writes: false, ask: path => files.send({ path: `/api/file/archive?path=${path}` }) },
  {
    name: 'mkdir',
    writes: true,
    ask: path => files.send({ method: 'POST', path: `/api/file/create_directory?path=${path}` }),
  },
  {
    name: 'upload',
    writes: true,
    ask: path =>
      files.send({
        method: 'POST',
        path: `/api/file/upload?path=${path}`,
        ...multipart([{ name: 'file', filename: '../../../canary.txt', content: 'overwritten' }]),
      }),
  },
]

describe('T-47: the file routes', () => {
  /** What a query parameter with this text means. */
  const meant = (sent: string): string => new URLSearchParams(`path=${sent.replaceAll('+', '%2B')}`).get('path')!

  test(`${CASES} paths over all routes (seed ${random.seed}): none is our fault, and relative ones go nowhere`, async () => {
    const isolated = await files.isolated()
    const folder = files.at('play/work')
    await files.upload(`${folder}/sub/deep/file.txt`, 'inside')
    const before = await files.shell('cat area/canary.txt area/work-2/canary.txt; cd area; find . | sort')
    const paths = escapes({ root: folder, outside: ['x', 'y/z'] }, random, CASES)
    const found = await inParallel(
      paths,
      async path => {
        const { name, writes, ask } = random.pick(routes)
        const absolute = random.next() < 0.9
        const sent = (absolute ? `${encodeURIComponent(folder)}/` : '') + path.replaceAll(/[#?&]/g, encodeURIComponent)
        if (sent.length > 15_000) return []
        const to = posix.resolve('/', meant(sent))
        // Where nothing isolates, this machine is the sandbox: what would leave the playground is left alone.
        if (!isolated && !to.startsWith(files.at('play'))) return []
        const answer = await ask(sent)
        if (!meant(sent).startsWith('/')) return judge(`${name} ${sent}`, answer, [400])
        return judge(`${name} ${sent}`, answer, writes ? [200, 400, 403] : [200, 400, 403, 404])
      },
      8,
    )
    assert.deepEqual(found.flat(), [])
    assert.equal(await files.shell('cat area/canary.txt area/work-2/canary.txt; cd area; find . | sort'), before)
  })

  test('the name that a browser gives a file decides nothing', async () => {
    for (const filename of ['../../../canary.txt', '/etc/passwd', '..\\\\x', 'a\0b', '']) {
      const form = multipart([{ name: 'file', filename, content: 'x' }])
      const path = `/api/file/upload?path=${encodeURIComponent(files.at('named/f'))}`
      assert.equal((await files.send({ method: 'POST', path, ...form })).status, 200)
    }
    assert.equal(await files.shell('ls -A named'), 'f\n')
  })

  test(`no path leads to the server's own files where hands are isolated`, async context => {
    if (!(await files.isolated())) return context.skip('nothing isolates here')
    await writeFile(join(server.data, 'canary.txt'), CANARY)
    const before = (await readdir(server.data)).filter(name => !/^gantry\.db/.test(name))
    await files.shell(`ln -s ${server.data} data; ln -s ${server.data}/canary.txt canary; ln -s / top`)
    const direct = [
      `${server.data}/canary.txt`,
      `${server.data}/session-key`,
      server.data,
      files.at('canary'),
      files.at('data/canary.txt'),
      files.at('data/new.txt'),
      files.at(`top${server.data}/canary.txt`),
      `/proc/1/root${server.data}/canary.txt`,
      `/proc/self/root${server.data}/canary.txt`,
      `/proc/self/cwd/../..${server.data}/canary.txt`,
      `/proc/${server.pid}/root${server.data}/canary.txt`,
      `/proc/${server.pid}/cwd`,
      '/proc/1/environ',
      '/proc/self/environ',
    ]
    const outside = ['canary.txt', 'new.txt', 'new/folder', 'session-key', 'gantry.db']
    const tricks = escapes({ root: join(server.data, 'sandboxes'), outside }, random, CASES)
    const paths = [
      ...direct.map(encodeURIComponent),
      ...tricks.map(path => `${encodeURIComponent(files.folder)}/${path}`),
    ]
    const keys = [KEY, await readFile(join(server.data, 'secret-key'), 'utf8')]
    const found = await inParallel(
      paths.filter(path => path.length < 15_000),
      async path => {
        const { name, ask } = random.pick(routes)
        const answer = await ask(path.replaceAll(/[#?&]/g, encodeURIComponent))
        const told = keys.some(key => answer.body.includes(key)) ? [`${name} ${path}: told a key`] : []
        return [...told, ...judge(`${name} ${path}`, answer, [200, 400, 403, 404])]
      },
      8,
    )
    assert.deepEqual(found.flat(), [])
    assert.equal(await readFile(join(server.data, 'canary.txt'), 'utf8'), CANARY)
    const after = (await readdir(server.data)).filter(name => !/^gantry\.db/.test(name))
    assert.deepEqual(after, before)
  })
})
