import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmod, chown, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { execute, sh, start } from '../support/bash.ts'
import { ask, NO_WALLS } from '../support/hands.ts'
import { anOrder, DEEP, GANTRY, TestServer, tempFolder } from '../support/server.ts'
import { until } from '../support/wait.ts'

const isRoot = process.getuid?.() === 0
/** Somebody who is neither root nor whom sandboxes run as by themselves. */
const OWNER = isRoot ? 12_345 : process.getuid!()

const folders: string[] = []
const aFolder = async (): Promise<string> => {
  const folder = await tempFolder()
  folders.push(folder)
  return folder
}
after(() => Promise.all(folders.map(folder => rm(folder, { recursive: true, force: true }))))

describe('folders granted at the start', { skip: NO_WALLS }, () => {
  let server: TestServer
  let work: string
  let tools: string
  let other: string
  before(async () => {
    if (NO_WALLS) return
    const top = await aFolder()
    ;[work, tools, other] = ['work', 'tools', 'other'].map(name => join(top, name)) as [string, string, string]
    for (const folder of [work, tools, other]) await mkdir(folder)
    await writeFile(join(work, 'mine'), 'from the host')
    await writeFile(join(tools, 'tool'), 'a tool')
    await writeFile(join(other, 'private'), 'nobody’s business')
    for (const name of ['hooks', 'info', 'objects', 'refs']) await mkdir(join(work, '.git', name), { recursive: true })
    await writeFile(join(work, '.git/config'), '[core]\n')
    await writeFile(join(work, '.git/HEAD'), 'ref: refs/heads/main\n')
    await writeFile(join(work, '.git/info/attributes'), '')
    await writeFile(join(work, '.git/hooks/pre-commit'), 'the host’s own')
    if (isRoot) spawnSync('chown', ['-R', `${OWNER}:${OWNER}`, work])
    server = await TestServer.start({ args: ['--workspace', work, '--read', tools] })
  })
  after(() => server?.[Symbol.asyncDispose]())
  const fails = async (command: string) => assert.notEqual((await execute(server, command)).exit_code, 0, command)

  test('a workspace is there at its own path and can be written', async () => {
    assert.equal(await sh(server, `cat ${work}/mine`), 'from the host')
    await sh(server, `mkdir ${work}/new && echo made inside > ${work}/new/file && echo more >> ${work}/mine`)
    assert.equal(await readFile(join(work, 'new/file'), 'utf8'), 'made inside\n')
    assert.equal(await readFile(join(work, 'mine'), 'utf8'), 'from the hostmore\n')
  })

  test('what is made there belongs to the owner of the folder, with the usual modes', async () => {
    await sh(server, `umask; mkdir -p ${work}/owned && touch ${work}/owned/file`)
    for (const [name, mode] of [
      ['owned', 0o755],
      ['owned/file', 0o644],
    ] as const) {
      const found = await stat(join(work, name))
      assert.deepEqual([found.uid, found.mode & 0o777], [OWNER, mode], name)
    }
  })

  test('what was only to be read can be read, and not changed', async () => {
    assert.equal(await sh(server, `cat ${tools}/tool`), 'a tool')
    await fails(`echo x > ${tools}/tool`)
    await fails(`touch ${tools}/new`)
    await fails(`rm -f ${tools}/tool && ! test -e ${tools}/tool`)
    await fails(`mv ${tools} ${tools}2`)
    assert.deepEqual(await readdir(tools), ['tool'])
  })

  test('what was not granted is not there', async () => {
    await fails(`cat ${other}/private`)
    await fails(`ls ${server.data}`)
  })

  test('what git would execute on the host cannot be changed from inside', async () => {
    const git = join(work, '.git')
    const before = await Promise.all(['config', 'hooks/pre-commit'].map(name => readFile(join(git, name), 'utf8')))
    for (const command of [
      `echo '[core] hooksPath=/tmp' > ${git}/config`,
      `echo evil > ${git}/hooks/pre-commit`,
      `echo evil > ${git}/hooks/post-checkout`,
      `rm -f ${git}/config && ! test -e ${git}/config`,
      `mv ${git}/hooks ${git}/hooks2`,
      `mv ${git}/config ${git}/config2`,
      `mv ${git} ${work}/aside && mkdir ${git} && echo evil > ${git}/config`,
      `echo '* filter=evil' > ${git}/info/attributes`,
      `mv ${git}/info ${git}/aside && mkdir ${git}/info && echo '* filter=evil' > ${git}/info/attributes`,
    ])
      await fails(command)
    const afterwards = await Promise.all(['config', 'hooks/pre-commit'].map(name => readFile(join(git, name), 'utf8')))
    assert.deepEqual(afterwards, before)
    assert.deepEqual(await readdir(join(git, 'hooks')), ['pre-commit'])
    await sh(server, `echo ref: refs/heads/other > ${git}/HEAD && touch ${git}/objects/x`)
  })
})

describe('folders that are never granted', { skip: NO_WALLS }, () => {
  test('the server says why in one line, and does not start', async () => {
    const data = await aFolder()
    const top = await aFolder()
    await mkdir(join(data, 'below'))
    await mkdir(join(top, 'real'))
    await writeFile(join(top, 'file'), '')
    await symlink(join(top, 'real'), join(top, 'link'))
    const cases: [path: string, why: RegExp][] = [
      [data, /holds what this server keeps/],
      [join(data, 'below'), /holds what this server keeps/],
      [join(data, '..'), /holds what this server keeps/],
      ['/', /holds what this server keeps|belongs to the system/],
      ['/etc', /belongs to the system/],
      ['/usr/lib', /belongs to the system/],
      ['/proc/self', /belongs to the system|is a link/],
      ['/home', /belongs to the system|no folder/],
      [join(top, 'link'), /is a link/],
      [join(top, 'file'), /no folder/],
      [join(top, 'absent'), /no folder/],
    ]
    for (const [index, [path, why]] of cases.entries())
      for (const option of DEEP ? ['--workspace', '--read'] : [index % 2 ? '--workspace' : '--read']) {
        const { status, stderr, stdout } = spawnSync(
          process.execPath,
          [GANTRY, '--port', '0', '--data', data, '--log-level', 'error', option, path],
          { encoding: 'utf8', timeout: 20_000, env: { PATH: process.env.PATH, HOME: data } },
        )
        assert.deepEqual([status, stdout], [1, ''], `${option} ${path}: ${stderr}`)
        assert.match(stderr, /^gantry: cannot grant [^\n]+\n$/)
        assert.match(stderr, why)
      }
  })
})

describe('folders granted later', { skip: NO_WALLS }, () => {
  let server: TestServer
  let top: string
  before(async () => {
    if (NO_WALLS) return
    top = await aFolder()
    server = await TestServer.start()
  })
  after(() => server?.[Symbol.asyncDispose]())
  const add = (path: string, key: string | null = server.key) =>
    ask(server, 'POST', '/api/workspaces', { key, body: { workspaces: [{ id: path, path, name: 'x' }] } })
  const forget = (path: string) =>
    ask(server, 'DELETE', `/api/workspaces?path=${encodeURIComponent(path)}`, { key: server.key })
  const open = async (name: string, content: string) => {
    const folder = join(top, name)
    await mkdir(folder)
    await writeFile(join(folder, 'file'), content)
    await chmod(folder, 0o777)
    if (isRoot) await chown(folder, 10_001, 10_001)
    return folder
  }

  test('only with the key', async () => {
    const folder = await open('keyless', 'secret')
    assert.equal((await add(folder, null)).status, 401)
    assert.notEqual((await execute(server, `cat ${folder}/file`)).exit_code, 0)
  })

  test('are there for what starts afterwards; what runs is not disturbed', async () => {
    const folder = await open('later', 'there now')
    assert.notEqual((await execute(server, `cat ${folder}/file`)).exit_code, 0)
    const running = await start(server, 'until test -e /tmp/go; do sleep 0.02; done; echo went on')
    assert.equal((await add(folder)).status, 200)
    await sh(server, 'touch /tmp/go')
    const ended = await until('it has ended', async () => {
      const { items } = await server.client.searchBashEvents({ query: { command_id__eq: running.id } })
      return items.find(event => 'exit_code' in event && event.exit_code !== null)
    })
    assert.partialDeepStrictEqual(ended, { exit_code: 0 })
    const { stdout } = await until('the folder is there', async () => {
      const output = await execute(server, `cat ${folder}/file`)
      return output.exit_code === 0 ? output : undefined
    })
    assert.equal(stdout, 'there now')
    assert.equal((await forget(folder)).status, 200)
    await until('it is gone again', async () => (await execute(server, `test -e ${folder}/file`)).exit_code !== 0)
  })

  test('what cannot be granted is not, however it is asked for', async () => {
    await add('/etc')
    await add(server.data)
    await add(join(top, '..'))
    assert.notEqual((await execute(server, `ls ${server.data}`)).exit_code, 0)
    assert.notEqual((await execute(server, 'test -e /etc/shadow')).exit_code, 0)
    for (const path of ['/etc', server.data, join(top, '..')]) await forget(path)
  })

  test('a link left in the sandbox at their place does not lead them elsewhere', async () => {
    const folder = await open('linked', 'of the host')
    const victim = await open('victim', 'untouched')
    await sh(server, `mkdir -p ${top} && ln -s ${victim} ${folder} && ls -l ${top}`)
    await add(folder)
    const told = await ask(server, 'POST', '/api/bash/execute_bash_command', {
      body: { command: `cat ${folder}/file` },
    })
    if (told.status === 200) assert.doesNotMatch(told.text, /untouched/)
    else assert.deepEqual([told.status, told.body.code], [502, 'sandbox_failed'], told.text)
    assert.deepEqual(await readdir(victim), ['file'])
    assert.ok((await lstat(folder)).isDirectory())
    await forget(folder)
    await until('the sandbox can be used again', async () => {
      const { status } = await ask(server, 'POST', '/api/bash/execute_bash_command', { body: { command: 'true' } })
      return status === 200
    })
  })
})

describe('where a conversation works', { skip: NO_WALLS }, () => {
  test('a folder of this machine that was not granted is refused, with a word on how to grant it', async t => {
    const home = await mkdtemp(join(homedir(), '.gantry-test-')).catch(() => undefined)
    if (!home) return t.skip('there is no home to make a folder in')
    folders.push(home)
    await mkdir(join(home, 'project'))
    await mkdir(join(home, 'granted'))
    await using server = await TestServer.start({ args: ['--workspace', join(home, 'granted')] })
    const create = (working_dir: string, prefix = '') =>
      ask(server, 'POST', `${prefix}/api/conversations`, {
        body: anOrder({ workspace: { working_dir } }),
        key: server.key,
      })
    for (const folder of [home, join(home, 'project'), `${join(home, 'project')}/`]) {
      const { status, body } = await create(folder)
      assert.equal(status, 422, folder)
      assert.match(JSON.stringify(body.detail), /--workspace/)
    }
    for (const roundabout of [`/tmp/..${home}/project`, `${home}/granted/../project`])
      assert.equal((await create(roundabout)).status, 422, roundabout)
    const temporary = await aFolder()
    for (const folder of [
      join(home, 'granted'),
      join(home, 'granted/new'),
      join(home, 'absent'),
      temporary,
      '/workspace',
      '/workspace/project',
      '/nowhere/at/all',
      'relative',
    ])
      assert.equal((await create(folder)).status, 201, folder)
    const { id } = await server.client.startSandbox()
    assert.equal((await create(join(home, 'project'), `/sandboxes/${id}`)).status, 201, 'in a sandbox of its own')
  })
})
