import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmod, chown, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import type { Fault } from '../../src/api/errors.ts'
import { newId } from '../../src/lib/id.ts'
import { Engine } from '../../src/sandbox/docker/engine.ts'
import { pull } from '../../src/sandbox/docker/image.ts'
import { split, unframed, wordsIn } from '../../src/sandbox/docker/streams.ts'
import { DockerBackend, type DockerOptions } from '../../src/sandbox/docker.ts'
import { EgressProxy } from '../../src/sandbox/egress/proxy.ts'
import type { Refusal } from '../../src/sandbox/egress/refusals.ts'
import { Outlet } from '../../src/sandbox/local/outlet.ts'
import { run } from '../../src/sandbox/run.ts'
import type { Order, Sandbox } from '../../src/sandbox/sandbox.ts'
import { DockerEngine, IMAGE, NO_DOCKER } from '../support/docker.ts'
import { sampled } from '../support/sampled.ts'
import { tempFolder } from '../support/server.ts'
import { until } from '../support/wait.ts'
import { type Arena, is, sandboxContract, sh } from './sandbox.ts'

async function open(): Promise<Arena> {
  const docker = await DockerEngine.start()
  const refusals: Refusal[] = []
  const gate = new EgressProxy({ forbidden: [], onRefused: refusal => refusals.push(refusal) })
  const outlet = (pid: number, order: Order) => {
    const enter = ['nsenter', `--target=${pid}`, '--net', '--'] as const
    return new Outlet({ enter, order, gate, mark: `test/${order.id}` })
  }
  const make = () => new DockerBackend({ socketPath: docker.socketPath, owner: 'test', outlet })
  const backend = make()
  return {
    backend,
    capabilities: { command: true, limits: true, isolated: true },
    refusals,
    order: { image: IMAGE },
    reopen: async () => make(),
    [Symbol.asyncDispose]: async () => {
      gate.close()
      await backend.close()
      await docker[Symbol.asyncDispose]()
    },
  }
}

sandboxContract('DockerBackend', open, NO_DOCKER, { oneIn: 6 })

const anOrder = (more: Partial<Order> = {}): Order => ({
  id: newId(),
  image: IMAGE,
  workingDir: '/workspace/project',
  env: {},
  limits: { memoryBytes: 64_000_000, processes: 50, cpus: 64, diskBytes: 0 },
  egress: { mode: 'none' },
  grants: [],
  ...more,
})

const output = async (box: Sandbox, script: string): Promise<string> => {
  const { stdout, stderr, code } = await run(box, { argv: sh(script) }, { limit: 100_000 })
  assert.equal(code, 0, `${stderr}`)
  return stdout.toString()
}

describe('DockerBackend: its engine', { skip: NO_DOCKER }, () => {
  const test = sampled(3)
  let docker: DockerEngine
  let backend: DockerBackend
  const another = (more: Partial<DockerOptions> = {}) =>
    new DockerBackend({ socketPath: docker.socketPath, owner: 'test', ...more })

  async function started(more: Partial<Order> = {}, by = backend) {
    const order = anOrder(more)
    await by.start(order)
    return { order, id: order.id, box: by.sandbox(order.id), [Symbol.asyncDispose]: () => by.remove(order.id) }
  }

  before(async () => {
    docker = await DockerEngine.start()
    backend = another()
  })
  after(async () => {
    await backend?.close()
    await docker?.[Symbol.asyncDispose]()
  })

  test('a container bears its owner and its id; another owner does not see it', async () => {
    await using own = await started()
    assert.deepEqual(await another({ owner: 'other' }).list(), [])
    assert.equal((await another({ owner: 'other' }).look(own.id)).state, 'absent')
    const seen = await docker.engine.get<{ Config: { Labels: object } }>(`/containers/gantry-test-${own.id}/json`)
    const { 'dev.gantry.shape': _, ...labels } = seen.Config.Labels as Record<string, string>
    assert.deepEqual(labels, { 'dev.gantry.owner': 'test', 'dev.gantry.sandbox': own.id })
  })

  test('commands have no privileges, no network, and a user with a name and a home', async () => {
    await using own = await started()
    const status = await output(own.box, 'grep -E "^(CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status')
    assert.deepEqual(status.replaceAll('\t', '').split('\n').slice(0, 4), [
      'CapEff:0000000000000000',
      'CapBnd:0000000000000000',
      'NoNewPrivs:1',
      'Seccomp:2',
    ])
    assert.equal(await output(own.box, 'ls /sys/class/net'), 'lo\n')
    assert.equal(
      await output(own.box, 'id -u; id -g; whoami; echo $HOME; ls -ld $HOME . .. | cut -c1-4'),
      '1000\n1000\ngantry\n/home/gantry\ndrwx\ndrwx\ndrwx\n',
    )
    assert.equal(await output(own.box, 'stat -c %u:%g $HOME .'), '1000:1000\n1000:1000\n')
  })

  test('what is made in a granted folder belongs to whom commands run as', async t => {
    const folder = await tempFolder()
    t.after(() => rm(folder, { recursive: true }))
    await chown(folder, 4321, 1234)
    const by = another({ user: { uid: 4321, gid: 1234 } })
    await using own = await started({ workingDir: folder, grants: [{ path: folder, readOnly: false }] }, by)
    await output(own.box, 'echo x >made')
    const { uid, gid } = await stat(join(folder, 'made'))
    assert.deepEqual([uid, gid], [4321, 1234])
  })

  test('another command, another grant, other limits: the next life has them, and all the files', async t => {
    const folder = await tempFolder()
    t.after(() => rm(folder, { recursive: true }))
    await chmod(folder, 0o755)
    await writeFile(join(folder, 'given'), '')
    await using own = await started()
    await output(own.box, 'echo one >file; echo two >/tmp/file')
    await backend.stop(own.id)
    const grants = [{ path: folder, readOnly: true }]
    const limits = { ...own.order.limits, processes: 30, memoryBytes: 32_000_000 }
    for (const more of [{ grants }, { limits }, { command: sh('while :; do sleep 1; done') }, {}]) {
      await backend.start({ ...own.order, ...more })
      const box = backend.sandbox(own.id)
      assert.equal(await output(box, 'cat file /tmp/file'), 'one\ntwo\n')
      assert.equal(
        await output(box, `test -e ${folder}/given && echo there || echo not`),
        'grants' in more ? 'there\n' : 'not\n',
      )
      const seen = await docker.engine.get<{ HostConfig: { PidsLimit: number } }>(
        `/containers/gantry-test-${own.id}/json`,
      )
      assert.equal(seen.HostConfig.PidsLimit, 'limits' in more ? 30 : 50)
      await backend.stop(own.id)
    }
    await backend.remove(own.id)
    const images = await docker.engine.get<{ RepoTags: string[] }[]>('/images/json', { query: { all: true } })
    assert.deepEqual(
      images.flatMap(({ RepoTags }) => RepoTags),
      [IMAGE],
    )
  })

  test('a container that somebody else killed is seen as ended, with its exit code, and starts again over its files', async () => {
    await using own = await started()
    await output(own.box, 'echo one >file')
    const process = await own.box.exec({ argv: ['sleep', '300'] })
    await docker.engine.post(`/containers/gantry-test-${own.id}/kill`)
    const { reason, code } = await process.exit
    assert.ok(reason === 'lost' || code === 137)
    const sight = await until('it is seen', async () => {
      const seen = await backend.look(own.id)
      return seen.state === 'stopped' ? seen : undefined
    })
    assert.match(sight.failure ?? '', /exit code 137/)
    await assert.rejects(own.box.exec({ argv: ['true'] }), is('sandbox_unavailable'))
    await backend.start(own.order)
    assert.equal(await output(backend.sandbox(own.id), 'cat file'), 'one\n')
  })

  test('a way out is made at each start, kept through a pause, and closed with the stop', async () => {
    const told: string[] = []
    let pid = 0
    const by = another({
      outlet: (id, order) => {
        pid = id
        return {
          open: () => void told.push(`up ${order.workingDir}`),
          admit: async () => ({ env: { WAY: 'out' }, leave: () => undefined }),
          connect: async port => {
            told.push(`dial ${port}`)
            return new PassThrough()
          },
          close: () => void told.push('down'),
        }
      },
    })
    await using own = await started({}, by)
    assert.match(await readFile(`/proc/${pid}/cgroup`, 'utf8'), /[0-9a-f]{64}/)
    assert.equal(await output(own.box, 'echo $WAY'), 'out\n')
    await own.box.connect(80)
    await by.pause(own.id)
    await by.resume(own.id)
    await by.stop(own.id)
    const up = 'up /workspace/project'
    assert.deepEqual(told, [up, 'dial 80', 'down'])
  })

  test('an image that cannot be had fails the start with the engine’s reason, at once', async () => {
    const said: string[] = []
    const order = anOrder({ image: 'localhost:1/no/such:image', onProgress: what => said.push(what) })
    const began = Date.now()
    await assert.rejects(backend.start(order), error => {
      assert.ok(is('sandbox_failed')(error))
      assert.match((error as Fault).message, /localhost:1\/no\/such:image could not be pulled: .*localhost:1/)
      return true
    })
    assert.ok(Date.now() - began < 2_000)
    assert.deepEqual(said, ['Pulling localhost:1/no/such:image'])
    assert.deepEqual(await backend.look(order.id), { state: 'absent' })
  })

  test('an image without a shell fails the start, saying so', async () => {
    await docker.engine.send('POST', '/images/create', {
      query: { fromSrc: '-', repo: 'gantry-test', tag: 'empty' },
      body: Buffer.alloc(1024),
    })
    const order = anOrder({ image: 'gantry-test:empty' })
    await assert.rejects(
      backend.start(order),
      error => is('sandbox_failed')(error) && /sh/.test((error as Fault).message),
    )
    await backend.remove(order.id)
    await docker.engine.send('DELETE', '/images/gantry-test:empty')
  })

  test('a start that is cut short leaves nothing that runs', async () => {
    for (const ms of [0, 5, 20, 80, 160, 240]) {
      const order = anOrder()
      const abort = new AbortController()
      const starting = backend.start(order, abort.signal)
      setTimeout(() => abort.abort(), ms)
      const failed = await starting.then(
        () => false,
        error => error === abort.signal.reason || error,
      )
      assert.ok(failed === true || failed === false, `${failed}`)
      if (failed) assert.notEqual((await backend.look(order.id)).state, 'running')
      await backend.start(order)
      await backend.remove(order.id)
    }
  })

  test('when the engine restarts, what ran in it is over; its sandboxes start again over their files', async () => {
    const order = anOrder()
    await backend.start(order)
    await output(backend.sandbox(order.id), 'echo one >file')
    const process = await backend.sandbox(order.id).exec({ argv: ['sleep', '300'] })
    await docker.halt()
    await process.exit
    await assert.rejects(backend.look(order.id), error => {
      assert.ok(is('sandbox_failed')(error))
      assert.ok((error as Fault).message.startsWith(`The Docker engine does not answer at ${docker.socketPath}`))
      return true
    })
    await assert.rejects(backend.sandbox(order.id).exec({ argv: ['true'] }), is('sandbox_failed'))
    const proof = await backend.prove()
    assert.equal(proof.isolated, false)
    assert.match(proof.summary, /does not answer/)
    await docker.boot()
    assert.equal((await backend.look(order.id)).state, 'stopped')
    await backend.start(order)
    assert.equal(await output(backend.sandbox(order.id), 'cat file'), 'one\n')
    await backend.remove(order.id)
  })
})

describe('DockerBackend: what the engine sends', () => {
  /** Every way to cut it once. */
  function* cuts(whole: Buffer): Generator<Buffer[]> {
    for (let at = 0; at <= whole.length; at++) yield [whole.subarray(0, at), whole.subarray(at)]
    yield [...whole].map(byte => Buffer.from([byte]))
  }

  test('frames are told apart however they are cut', () => {
    const frame = (type: number, text: string) => {
      const header = Buffer.alloc(8)
      header[0] = type
      header.writeUInt32BE(Buffer.byteLength(text), 4)
      return Buffer.concat([header, Buffer.from(text)])
    }
    const whole = Buffer.concat([
      frame(1, 'one'),
      frame(2, 'é'),
      frame(1, ''),
      frame(2, 'x'.repeat(300)),
      frame(1, 'end'),
    ])
    for (const parts of cuts(whole)) {
      const got: Record<number, string> = { 1: '', 2: '' }
      const take = unframed((type, part) => {
        got[type] += part.toString('latin1')
      })
      for (const part of parts) take(part)
      assert.deepEqual(got, { 1: 'oneend', 2: `${Buffer.from('é').toString('latin1')}${'x'.repeat(300)}` })
    }
  })

  test('much output before the first word does not keep it from being heard, and is held up after it', async () => {
    const connection = new PassThrough()
    const begun = Promise.withResolvers<void>()
    const words = wordsIn('token', () => begun.resolve())
    const { stdout, stderr } = split(connection, { terminal: false, begun: begun.promise, words })
    stderr.resume()
    const frame = (type: number, content: Buffer) => {
      const head = Buffer.alloc(8)
      head[0] = type
      head.writeUInt32BE(content.length, 4)
      return Buffer.concat([head, content])
    }
    for (let i = 0; i < 32; i++) connection.write(frame(1, Buffer.alloc(32_768, 'o')))
    connection.write(frame(2, Buffer.from('\x1b]gantry-token;7\x07')))
    await begun.promise
    await until('it is held up', () => connection.isPaused())
    connection.end()
    assert.equal((await buffer(stdout)).length, 32 * 32_768)
  })

  test('words in the midst of output are taken out of it however they are cut, and nothing else is', () => {
    const word = (token: string, text: string) => `\x1b]gantry-${token};${text}\x07`
    const cases: [text: string, left: string, words: string[]][] = [
      [`${word('t', '12')}out${word('t', '0')}after`, 'outafter', ['12', '0']],
      [`\x1b[0m\x1b]0;title\x07${word('t', '1')}\x1b`, '\x1b[0m\x1b]0;title\x07\x1b', ['1']],
      [word('other', '5'), word('other', '5'), []],
      [`\x1b]gantry-t;${'9'.repeat(40)}\x07`, `\x1b]gantry-t;${'9'.repeat(40)}\x07`, []],
      ['\x1b]gantry-t', '\x1b]gantry-t', []],
      [`\x1b\x1b]gantry-\x1b]gantry${word('t', '7')}`, '\x1b\x1b]gantry-\x1b]gantry', ['7']],
    ]
    for (const [text, left, told] of cases)
      for (const parts of cuts(Buffer.from(text))) {
        const heard: string[] = []
        const words = wordsIn('t', one => heard.push(one))
        const got = Buffer.concat([...parts.map(part => words.without(part)), words.rest()])
        assert.deepEqual([got.toString(), heard], [left, told])
      }
  })

  async function withEngine(answer: RequestListener, act: (engine: Engine) => Promise<void>): Promise<void> {
    const folder = await tempFolder()
    const socketPath = join(folder, 'engine.sock')
    const server = createServer((request, response) => {
      if (request.url === '/version') response.end(JSON.stringify({ Version: '99', ApiVersion: '1.99' }))
      else answer(request, response)
    }).listen(socketPath)
    await once(server, 'listening')
    try {
      await act(new Engine(socketPath))
    } finally {
      server.closeAllConnections()
      server.close()
      await rm(folder, { recursive: true })
    }
  }

  test('a pull tells how far it has come, and asks for one tag in a version it knows', async () => {
    const asked: string[] = []
    const layer = (id: string, status: string, current?: number, total?: number) =>
      `${JSON.stringify({ id, status, progressDetail: { current, total } })}\r\n`
    await withEngine(
      (request, response) => {
        asked.push(request.url ?? '')
        const lines = [
          layer('a', 'Downloading', 10, 100),
          layer('b', 'Downloading', 0, 100),
          layer('b', 'Downloading', 80, 100),
          layer('a', 'Download complete'),
          layer('b', 'Download complete'),
          layer('b', 'Extracting', 1, 100),
          '{"status":"Status: Downloaded newer image"}',
        ]
        for (const part of lines.join('').match(/[\s\S]{1,7}/g) ?? []) response.write(part)
        response.end()
      },
      async engine => {
        const told: string[] = []
        await pull(engine, 'registry:5000/python', { onProgress: what => told.push(what) })
        const bars = ['', ': 10 %', ': 45 %', ': 90 %', ': 100 %']
        assert.deepEqual(
          told,
          bars.map(bar => `Pulling registry:5000/python${bar}`),
        )
        assert.deepEqual(asked, ['/v1.47/images/create?fromImage=registry%3A5000%2Fpython&tag=latest'])
      },
    )
  })

  test('a pull that fails on the way says why; one that is cut short ends', async () => {
    await withEngine(
      (_, response) => response.end('{"status":"Pulling"}\n{"error":"no space left"}\n'),
      engine => assert.rejects(pull(engine, 'a:b', {}), /The image a:b could not be pulled: no space left/),
    )
    const abort = new AbortController()
    await withEngine(
      (_, response) => {
        response.write('{"status":"Pulling"}\n')
        setImmediate(() => abort.abort())
      },
      engine => assert.rejects(pull(engine, 'a:b', { signal: abort.signal }), { name: 'AbortError' }),
    )
  })

  test('an engine that goes away in the midst of an answer is told as one that does not answer', async () => {
    await withEngine(
      (_, response) => {
        response.writeHead(200, { 'content-length': 100 })
        response.write('{')
        setImmediate(() => response.destroy())
      },
      engine => assert.rejects(engine.get('/info'), is('sandbox_failed')),
    )
  })
})
