import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, describe, test } from 'node:test'
import { Fault } from '../../src/api/errors.ts'
import { isBranchName } from '../../src/api/git.ts'
import { withoutCredentials } from '../../src/repository/credential.ts'
import type { Command, Process } from '../../src/sandbox/sandbox.ts'
import { Bench, NO_REPOSITORIES, TOKEN } from '../support/repositories.ts'
import { sampled } from '../support/sampled.ts'
import { until } from '../support/wait.ts'

const COMMIT = 'git add -A; git commit -qm'

describe('fetching a repository', { skip: NO_REPOSITORIES }, () => {
  let bench: Bench
  before(async () => {
    bench = await Bench.open()
    await bench.host.add('ann/app', `head -c 300000 /dev/urandom >file; ${COMMIT} one`, { token: TOKEN })
  })
  after(() => bench[Symbol.asyncDispose]())

  const failing = async (work: Promise<unknown>): Promise<Fault> => {
    const error = await work.then(
      step => assert.fail(`it went well: ${JSON.stringify(step)}`),
      (error: unknown) => error,
    )
    assert.ok(error instanceof Fault, String(error))
    return error
  }
  const left = () => bench.sh('ls -A -d /workspace/*/.gantry-* 2>/dev/null; exit 0')

  const alike = sampled(3)
  describe('from a host that', () => {
    const cases = [
      ['answers 500', { answer: 500 }, 'repository_unreachable', /git\.test.*cannot be reached/s],
      ['answers 403', { answer: 403 }, 'repository_not_found', /shows no repository/],
      ['is silent', { answer: 'nothing' }, 'repository_unreachable', /git\.test/],
      ['breaks off', { answer: 'half' }, 'repository_unreachable', /cannot be reached/],
    ] as const
    for (const [what, hosted, code, words] of cases)
      alike(`${what} is told in words, and nothing is left`, async () => {
        bench.host.hosted.set('ann/app', { ...hosted })
        const error = await failing(bench.prepare(bench.order('ann/app'), { limits: { stallSeconds: 1 } }))
        assert.equal(error.code, code, error.message)
        assert.match(error.message, words)
        assert.equal(await left(), '')
      })

    alike('sends a byte now and then is given up when its time is over', async () => {
      bench.host.hosted.set('ann/app', { answer: 'slowly' })
      const error = await failing(bench.prepare(bench.order('ann/app'), { limits: { fetchMs: 1_500 } }))
      assert.deepEqual([error.code, error.retryable], ['repository_unreachable', true])
      assert.match(error.message, /took longer than 1\.5 seconds for ann\/app/)
      assert.equal(await left(), '')
    })

    test('is ended by the signal at once', async () => {
      bench.host.hosted.set('ann/app', { answer: 'nothing' })
      const abort = new AbortController()
      const preparing = bench.prepare(bench.order('ann/app'), { signal: abort.signal })
      const before = bench.host.asked.length
      await until('it is asked', () => bench.host.asked.length > before)
      abort.abort(new Error('enough'))
      await assert.rejects(preparing, /enough/)
    })

    test('has no name, or is not to be reached from the sandbox', async () => {
      const at = (host: string) => {
        const order = bench.order('ann/app', { token: TOKEN })
        return { ...order, remote: { ...order.remote!, url: order.remote!.url.replace('git.test', host) } }
      }
      const refused = await failing(bench.prepare(at('other.test')))
      assert.deepEqual(
        [refused.code, /network policy .* reach other\.test/.test(refused.message)],
        ['repository_unreachable', true],
        refused.message,
      )
      const nameless = await failing(bench.prepare(at('absent.example')))
      assert.equal(nameless.code, 'repository_unreachable', nameless.message)
      const narrow = await failing(bench.prepare(bench.order('ann/app'), { egress: { mode: 'none' } }))
      assert.equal(narrow.code, 'repository_unreachable', narrow.message)
    })
  })

  alike('too large a one is refused while it comes, and nothing is left', async () => {
    bench.host.hosted.set('ann/app', {})
    const limits = { bytes: 200_000, watchMs: 20 }
    const error = await failing(bench.prepare(bench.order('ann/app'), { limits }))
    assert.equal(error.code, 'repository_too_large')
    assert.match(error.message, /ann\/app is larger than 195 KB/)
    assert.equal(await left(), '')
  })

  alike('one that is small and grows when its files are written out is refused too', async () => {
    const copies = 'for i in 1 2 3 4 5 6 7 8 9; do cp file $i; done'
    await bench.host.add('ann/bomb', `head -c 1000000 /dev/urandom >file; ${copies}; ${COMMIT} one`)
    const error = await failing(bench.prepare(bench.order('ann/bomb'), { limits: { bytes: 5_000_000, watchMs: 20 } }))
    assert.equal(error.code, 'repository_too_large')
    assert.equal(await left(), '')
  })

  test('no name of a branch, a folder or a repository becomes an option, a command or another place', async () => {
    bench.host.hosted.set('ann/app', {})
    const words = [
      '--upload-pack=touch /tmp/pwned',
      '-b',
      '$(touch /tmp/pwned)',
      '`touch /tmp/pwned`',
      ';touch /tmp/pwned',
      'a b',
      'a..b',
      '../x',
      'x.lock',
      'a\nb',
      '',
      '@',
      'HEAD',
      '+main:main',
      'main:x',
      ':',
      '*',
      'a'.repeat(5000),
    ]
    for (const branch of words) {
      const { code, message } = await failing(bench.prepare(bench.order('ann/app', { branch })))
      assert.equal(code, 'branch_not_found', `${branch}: ${message}`)
    }
    for (const word of [
      'ext::sh -c "touch /tmp/pwned"',
      'file:///etc',
      '/etc',
      '--upload-pack=x',
      'ssh://host/x',
      'http://user:secret@git.test/x',
      'https://',
      '-',
    ]) {
      const order = bench.order('ann/app')
      const { code, message } = await failing(bench.prepare({ ...order, remote: { ...order.remote!, url: word } }))
      assert.equal(code, 'repository_not_found')
      assert.ok(!message.includes('secret'))
    }
    for (const name of ["-rf '$(touch pwned)' *", 'new\nline', '--help', '[a-z]*?']) {
      const order = bench.order('ann/app', { folder: `/workspace/strange/${name}` })
      assert.equal((await bench.prepare(order)).outcome, 'done')
      assert.equal((await bench.prepare(order)).outcome, 'skipped')
    }
    assert.equal(await bench.sh('ls /tmp/pwned /workspace/pwned 2>/dev/null; ls -A /workspace/strange | wc -l'), '5')
  })

  test('names of branches are what git takes for them', () => {
    for (const name of ['main', 'feature/a.b/c', 'a@b', 'ünï/cöde', '#1', 'a;b', '$(x)', "it's"])
      assert.ok(isBranchName(name), name)
    for (const name of [
      '-x',
      '/x',
      '.x',
      'x/',
      'x.',
      'a//b',
      'a/.b',
      'a.lock/b',
      'a^',
      'a~1',
      'a:b',
      'a\\b',
      'a[b',
      '\x7f',
      '@{u}',
    ])
      assert.ok(!isBranchName(name), name)
  })

  test('what a repository brings is not run: hooks, filters, monitors, submodules, templates', async () => {
    bench.host.hosted.set('ann/app', {})
    await bench.sh(`mkdir -p /tmp/hooks; printf '#!/bin/sh\\necho $0 >>/tmp/ran\\n' >/tmp/hooks/post-checkout; chmod +x /tmp/hooks/post-checkout
      git config --global core.hooksPath /tmp/hooks; git config --global filter.evil.smudge 'echo filter >>/tmp/ran; cat'; git config --global core.fsmonitor 'echo monitor >>/tmp/ran'
      git config --global credential.helper '!echo helper >>/tmp/ran'; git config --global url.http://other.test/.insteadOf http://git.test; git config --global init.templateDir /tmp/template`)
    await bench.host.add(
      'ann/hostile',
      `printf '* filter=evil\\n' >.gitattributes; echo x >file; mkdir hooks; printf '#!/bin/sh\\necho hook >>/tmp/ran' >hooks/post-checkout; chmod +x hooks/post-checkout
      printf '[submodule "x"]\\n\\tpath = x\\n\\turl = http://git.test:${bench.host.port}/ann/app.git\\n' >.gitmodules; git add -A; git update-index --add --cacheinfo 160000,$(git hash-object -t commit --stdin -w </dev/null 2>/dev/null || echo 1234567890123456789012345678901234567890),x; git commit -qm one; ln -s /etc/passwd link; ${COMMIT} two`,
    )
    const before = bench.host.asked.length
    const order = bench.order('ann/hostile')
    await bench.prepare(order)
    assert.equal(await bench.sh(`rm -f ~/.gitconfig; cat /tmp/ran 2>/dev/null; cat ${order.folder}/file`), 'x')
    assert.ok(bench.host.asked.slice(before).every(({ url }) => url.startsWith('/ann/hostile.git')))
    // Otherwise there was nothing to be afraid of.
    assert.equal(
      await bench.sh(
        `cd ${order.folder}; git config filter.evil.smudge 'echo filter >>/tmp/ran; cat'; rm file; git checkout -q file; cat /tmp/ran`,
      ),
      'filter',
    )
  })

  test('what an agent made of the clone that it shares is not run for another, nor given the token', async () => {
    bench.host.hosted.set('ann/app', { token: TOKEN })
    const shared = '/workspace/hostile/base'
    const order = (n: number) => bench.order('ann/app', { token: TOKEN, shared, workBranch: `work-${n}` })
    await bench.prepare(order(1))
    const evil = (what: string) => `'!env >>/tmp/stolen; echo ${what} >>/tmp/stolen'`
    await bench.sh(`cd ${shared}; for key in core.fsmonitor core.sshCommand core.askPass; do git config $key 'env >>/tmp/stolen'; done
      git config credential.helper ${evil('helper')}; git config credential.http://git.test:${bench.host.port}.helper ${evil('own helper')}
      git config remote.origin.url http://other.test/x.git; git config core.hooksPath $PWD/hooks; mkdir -p hooks
      for hook in post-checkout reference-transaction; do printf '#!/bin/sh\\nenv >>/tmp/stolen' >hooks/$hook; chmod +x hooks/$hook; done`)
    await bench.host.change('ann/app', `echo more >more; ${COMMIT} more`)
    const second = order(2)
    await bench.prepare(second)
    assert.equal(await bench.sh(`cat /tmp/stolen 2>/dev/null; cat ${second.folder}/more`), 'more')
    // Otherwise there was nothing to be afraid of.
    assert.match(await bench.sh(`cd ${second.folder}; git checkout -q -b x; cat /tmp/stolen`), /HOME=/)
  })

  test('a host that sends us to another does not make us give that one the token', async () => {
    const elsewhere = `elsewhere.test:${bench.host.port}`
    bench.host.hosted.set('ann/app', { token: TOKEN, redirect: elsewhere })
    const error = await failing(bench.prepare(bench.order('ann/app', { token: TOKEN })))
    assert.equal(error.code, 'repository_not_found')
    const there = bench.host.asked.filter(({ host }) => host === elsewhere)
    assert.ok(there.length > 0 && there.every(({ token }) => token === undefined))
  })

  test('the token goes to its host and nowhere else, whatever the host says', async () => {
    bench.host.hosted.set('ann/app', { token: TOKEN })
    await bench.start('traced', { GIT_TRACE: '1', GIT_TRACE_CURL: '1', GIT_CURL_VERBOSE: '1', GIT_TRACE_PACKET: '1' })
    const traced = bench.inside.backend.sandbox('traced')
    const lists: string[] = []
    const said: string[] = []
    const listen = (started: Process) => {
      for (const stream of [started.stdout, started.stderr]) stream.on('data', chunk => said.push(`${chunk}`))
      return started
    }
    const exec = async (command: Command) => {
      lists.push(JSON.stringify(command.argv))
      return listen(await traced.exec(command))
    }
    const progress: string[] = []
    const options = { sandbox: { ...traced, exec }, onProgress: (what: string) => progress.push(what) }
    const order = bench.order('ann/app', { token: TOKEN, shared: '/workspace/base' })
    const step = await bench.prepare(order, options)
    const wrong = await failing(bench.prepare(bench.order('ann/absent', { token: TOKEN }), options))
    const forms = [
      TOKEN,
      encodeURIComponent(TOKEN),
      Buffer.from(`x-access-token:${TOKEN}`).toString('base64'),
      Buffer.from(TOKEN).toString('base64').slice(0, 20),
    ]
    const everything = JSON.stringify([lists, progress, step, wrong.message, said])
    for (const form of forms) assert.ok(!everything.includes(form), form)
    assert.ok(said.join('').includes('trace:') && said.join('').includes('Authorization: Basic <redacted>'))
    const kept = () => {
      const words = forms.flatMap(form => ['-e', form])
      return spawnSync('grep', ['-rlF', ...words, '--', bench.inside.data], { encoding: 'utf8' }).stdout
    }
    assert.equal(kept(), '')
    await bench.sh(`echo 'x${TOKEN}' >/workspace/canary`)
    assert.match(kept(), /canary/)
    assert.ok(bench.host.asked.some(({ token }) => token === TOKEN))
    const { credential } = order.remote!
    assert.equal(
      withoutCredentials(`fatal: http://me:${TOKEN}@git.test/x and http://me:other@h/y`, {
        ...order.remote!,
        credential,
      }),
      'fatal: http://git.test/x and http://h/y',
    )
  })
})
