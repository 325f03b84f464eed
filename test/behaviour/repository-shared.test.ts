import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Command, Sandbox } from '../../src/sandbox/sandbox.ts'
import { Bench, NO_REPOSITORIES, TOKEN } from '../support/repositories.ts'
import { sampled } from '../support/sampled.ts'
import { until } from '../support/wait.ts'

const COMMIT = 'git add -A; git commit -qm'

describe('a clone that conversations share', { skip: NO_REPOSITORIES }, () => {
  let bench: Bench
  before(async () => {
    bench = await Bench.open()
    await bench.host.add('ann/app', `echo one >file; ${COMMIT} one; git branch other`, { token: TOKEN })
    await bench.host.add('ann/empty')
  })
  after(() => bench[Symbol.asyncDispose]())
  const look = (folder: string, script: string) => bench.sh(`cd ${folder}; ${script}`)
  const alike = sampled(3)
  let made = 0
  const order = (shared: string, more: Parameters<Bench['order']>[1] = {}) =>
    bench.order('ann/app', { token: TOKEN, shared, workBranch: `work-${++made}`, ...more })
  const fetches = () =>
    bench.host.asked.filter(({ method, url }) => method === 'POST' && url.endsWith('upload-pack')).length

  test('is fetched once, however many begin at once, and each works on a branch of its own', async () => {
    const orders = [1, 2, 3, 4].map(() => order('/workspace/shared/once'))
    const before = fetches()
    const steps = await Promise.all(orders.map(one => bench.prepare(one)))
    // Each asks which commit is wanted; one of them fetches it, which is a question and an answer.
    assert.equal(fetches() - before, 4 + 2)
    assert.deepEqual(
      steps.map(({ detail }) => detail),
      orders.map(({ workBranch }) => `ann/app, on the new branch ${workBranch} from main`),
    )
    for (const { folder, workBranch } of orders)
      assert.equal(await look(folder, 'cat file; git status -sb; ls -A ..'), `one\n## ${workBranch}\napp`)
    assert.equal(await bench.sh('ls -A /workspace/shared'), '.gantry-once-lock\nonce')
    await look(orders[0]!.folder, 'echo changed >file')
    assert.equal(await look(orders[1]!.folder, 'cat file'), 'one')
  })

  alike(
    'gives the branch that was named to the first, and the others one of their own from it, and says so',
    async () => {
      const [first, second, third] = [1, 2, 3].map(() => order('/workspace/shared/named', { branch: 'main' }))
      assert.equal((await bench.prepare(first!)).detail, 'ann/app, on main')
      const { detail } = await bench.prepare(second!)
      assert.equal(
        detail,
        `ann/app, on the new branch ${second!.workBranch} from main: another conversation has main here`,
      )
      assert.equal(await look(first!.folder, 'git status -sb'), '## main...origin/main')
      assert.equal(await look(second!.folder, 'git status -sb'), `## ${second!.workBranch}...origin/main`)
      assert.equal((await bench.prepare({ ...third!, branch: 'other' })).detail, 'ann/app, on other')
    },
  )

  alike('brings what is new on the remote to who comes later, and leaves the others as they are', async () => {
    const [early, late] = [order('/workspace/shared/new'), order('/workspace/shared/new')]
    await bench.prepare(early)
    await bench.host.change('ann/app', `echo newer >file; ${COMMIT} newer`)
    await bench.prepare(late)
    assert.deepEqual([await look(early.folder, 'cat file'), await look(late.folder, 'cat file')], ['one', 'newer'])
    assert.equal(await look(early.folder, 'git merge -q origin/main && cat file'), 'newer')
  })

  alike('goes back to the beginning as soon as somebody wants that, and stays so', async () => {
    const at = { shared: '/workspace/shared/history' }
    await bench.host.add('ann/long', `for i in 1 2 3; do echo $i >file; ${COMMIT} $i; done; git branch other`)
    const orders = [false, true, false].map(fullHistory =>
      bench.order('ann/long', {
        ...at,
        fullHistory,
        workBranch: `work-${++made}`,
        branch: fullHistory ? 'other' : null,
      }),
    )
    const lengths: string[] = []
    for (const one of orders) {
      await bench.prepare(one)
      lengths.push(await look(one.folder, 'git log --oneline | wc -l'))
      await bench.host.change('ann/long', `echo more >>file; ${COMMIT} more`)
    }
    assert.deepEqual(lengths, ['1', '3', '5'])
  })

  alike('opens to the push of a command that was given the token', async () => {
    const one = order('/workspace/shared/push', { identity: { name: 'Ann', email: 'a@b' } })
    await bench.prepare(one)
    const said = await look(
      one.folder,
      `git commit -q --allow-empty -m x; GITHUB_TOKEN='${TOKEN}' git push -q origin HEAD 2>&1 && git log -1 --format=%an`,
    )
    assert.equal(said, 'Ann')
  })

  alike('is a repository of the folder alone where the remote is empty', async () => {
    const one = { ...bench.order('ann/empty'), shared: '/workspace/shared/empty' }
    assert.match((await bench.prepare(one)).detail!, /is empty/)
    assert.equal(
      await bench.sh(`ls -A /workspace/shared/empty 2>&1; ls -A ${one.folder}`),
      "ls: cannot access '/workspace/shared/empty': No such file or directory\n.git",
    )
  })

  describe('in which a git has begun something', () => {
    const sample = '/workspace/shared/begun'
    /** A git that has its hands on a branch and, by a request it never ends, keeps them there. */
    const begin = async (clone: string) => {
      const words = `start\nupdate refs/remotes/origin/main refs/remotes/origin/main\nprepare\n`
      const argv = ['git', '-C', clone, 'update-ref', '--stdin'] as const
      const git = await bench.sandbox.exec({ argv, cwd: '/', stdin: true })
      git.stdin!.write(words)
      git.stderr.resume()
      let said = ''
      git.stdout.on('data', chunk => {
        said += chunk
      })
      await until('it has them there', () => said.includes('prepare: ok'))
      return git
    }
    before(async () => {
      await bench.prepare(order(sample))
      await bench.host.change('ann/app', `echo latest >file; ${COMMIT} latest`)
    })

    test('does not remember one that was killed', async () => {
      const git = await begin(sample)
      await git.signal('SIGKILL')
      await git.exit
      await bench.sh(`cd ${sample}; touch shallow.lock packed-refs.lock config.lock`)
      assert.equal(await bench.sh(`ls ${sample}/refs/remotes/origin`), 'HEAD\nmain\nmain.lock')
      const next = order(sample)
      await bench.prepare(next)
      assert.equal(await look(next.folder, 'cat file'), 'latest')
      assert.equal(await bench.sh(`find ${sample} -name '*.lock'`), '')
    })

    test('leaves one that runs alone, waits for it, and goes on when it is done', async () => {
      await bench.host.change('ann/app', `echo last >file; ${COMMIT} last`)
      const git = await begin(sample)
      await assert.rejects(bench.prepare(order(sample), { limits: { othersSeconds: 1 } }))
      assert.equal(await bench.sh(`find ${sample} -name '*.lock'`), `${sample}/refs/remotes/origin/main.lock`)
      const next = order(sample)
      const preparing = bench.prepare(next)
      git.stdin!.end('abort\n')
      assert.equal((await git.exit).code, 0)
      await preparing
      assert.equal(await look(next.folder, 'cat file'), 'last')
    })
  })

  alike('is there for all in an image without flock', async () => {
    const without = (words: Command['argv']) => words.map(word => word.replaceAll('flock', 'absent')) as [string]
    const poor: Sandbox = {
      ...bench.sandbox,
      exec: ({ argv, ...command }) => bench.sandbox.exec({ ...command, argv: without(argv) }),
    }
    const orders = [1, 2, 3].map(() => order('/workspace/shared/poor'))
    await Promise.all(orders.map(one => bench.prepare(one, { sandbox: poor })))
    for (const { folder, workBranch } of orders)
      assert.equal(await look(folder, 'git symbolic-ref --short HEAD'), workBranch)
    // One that died with the lock does not keep it, be its number another's by now.
    await bench.sh(
      'mkdir /workspace/shared/.gantry-poor-lock.held; echo 1 >/workspace/shared/.gantry-poor-lock.held/holder',
    )
    await bench.prepare(order('/workspace/shared/poor'), { sandbox: poor })
    assert.equal(await bench.sh('ls -A /workspace/shared | grep poor'), 'poor')
  })
})
