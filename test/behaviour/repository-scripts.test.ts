import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { Fault } from '../../src/api/errors.ts'
import { newId } from '../../src/lib/id.ts'
import { installGitHooks } from '../../src/repository/git-hooks.ts'
import { runSetupScript } from '../../src/repository/setup-script.ts'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import { IDENTITY } from '../support/git.ts'
import { Inside, KINDS } from '../support/inside.ts'
import { until } from '../support/wait.ts'

const kind = KINDS.find(({ skip }) => !skip)
const hash = (text: string) => createHash('sha256').update(text).digest('hex')
const signal = new AbortController().signal

describe('scripts that a project brings', { skip: !kind && 'nothing isolates here' }, () => {
  let inside: Inside
  let sandbox: Sandbox
  before(async () => {
    inside = await Inside.open({ walls: kind!.walls })
    await inside.start('box')
    sandbox = inside.backend.sandbox('box')
  })
  after(() => inside[Symbol.asyncDispose]())

  const sh = (script: string) => inside.sh(script).then(text => text.trim())
  async function project(file: string, text?: string): Promise<string> {
    const folder = `/workspace/it's ${newId()}`
    await sh(`mkdir -p "${folder}/.openhands"; cd "${folder}"; git init -q -b main .`)
    if (text !== undefined) await write(folder, file, text)
    return folder
  }
  async function write(folder: string, file: string, text: string): Promise<void> {
    const { code } = await inside.run(['/bin/sh', '-c', 'printf %s "$2" >"$1"', 'sh', `${folder}/${file}`, text])
    assert.equal(code, 0)
  }
  const asked: string[] = []
  const yes = async (sha256: string) => {
    asked.push(sha256)
    return true
  }
  const no = async () => false
  const setUp = (text?: string, more: object = {}) =>
    project('.openhands/setup.sh', text).then(folder =>
      runSetupScript(sandbox, folder, { trust: yes, signal, ...more }),
    )
  const refusal = async (work: Promise<unknown>): Promise<string> => {
    const error = await work.then(
      () => undefined,
      (error: unknown) => error,
    )
    assert.ok(error instanceof Fault, String(error))
    assert.equal(error.code, 'setup_failed')
    return error.message
  }

  describe('setup.sh', () => {
    test('runs in the folder of the project, in the shell that it names, once it is trusted', async () => {
      const text = `echo "$0 in $PWD"; echo also >&2; read x; echo "[$x]"; echo \${BASH_VERSION:-plain}`
      const folder = await project('.openhands/setup.sh', text)
      const step = await runSetupScript(sandbox, folder, { trust: yes, signal })
      assert.deepEqual(step, { outcome: 'done', detail: `.openhands/setup.sh in ${folder}\nalso\n[]\nplain` })
      assert.equal(asked.at(-1), hash(text))
      const bash = await setUp(`#!/usr/bin/env bash\n[[ a == a ]] && echo \${BASH_VERSION:+bash}`)
      assert.equal(bash.detail, 'bash')
    })

    test('that is not there, or is no file, is nothing to do', async () => {
      assert.deepEqual(await setUp(), { outcome: 'skipped', detail: null })
      const folder = await project('')
      await sh(`cd "${folder}/.openhands"; ln -s /dev/zero setup.sh; mkfifo pre-commit.sh`)
      assert.equal((await runSetupScript(sandbox, folder, { trust: yes, signal })).outcome, 'skipped')
      assert.equal((await installGitHooks(sandbox, folder, { trust: yes, signal })).outcome, 'skipped')
    })

    test('that nobody trusts does not run, and it is said what to approve', async () => {
      const text = 'touch ran'
      const folder = await project('.openhands/setup.sh', text)
      const { outcome, detail } = await runSetupScript(sandbox, folder, { trust: no, signal })
      assert.equal(outcome, 'refused')
      assert.match(detail!, new RegExp(`setup\\.sh was not run.*PUT /api/v1/approvals/${hash(text)}`))
      assert.equal(await sh(`ls "${folder}"`), '')
    })

    test('that is changed after it was trusted does not run', async () => {
      const folder = await project('.openhands/setup.sh', 'touch ran')
      const trust = async () => {
        await write(folder, '.openhands/setup.sh', 'touch ran-changed')
        return true
      }
      assert.match(await refusal(runSetupScript(sandbox, folder, { trust, signal })), /has changed/)
      assert.equal(await sh(`ls "${folder}"`), '')
    })

    test('that fails says how, with its last words', async () => {
      const said = await refusal(setUp('seq 100000; echo "no such module" >&2; exit 7'))
      assert.match(said, /^\.openhands\/setup\.sh ended with exit code 7:\n/)
      assert.match(said, /99999\n100000\nno such module$/)
      assert.ok(said.length < 2_100)
    })

    test('that hangs is ended with all it started, when its time is over or it is given up', async () => {
      const hanging = 'sleep 987 & sleep 988'
      assert.match(
        await refusal(setUp(`echo begun; ${hanging}`, { limits: { setupMs: 500 } })),
        /took longer than 0\.5 seconds:\nbegun/,
      )
      const abort = new AbortController()
      const running = setUp(`touch /tmp/hangs; ${hanging}`, { signal: abort.signal })
      await until('it runs', async () => (await sh('ls /tmp/hangs 2>/dev/null')) !== '')
      abort.abort(new Error('enough'))
      await assert.rejects(running, /enough/)
      await until('nothing of it runs', async () => !/98[78]/.test(await sh("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")))
    })

    test('that floods is ended, one that merely says much is not', async () => {
      assert.equal((await setUp('seq 1000000')).detail?.split('\n').at(-1), '1000000')
      assert.match(await refusal(setUp('yes')), /printed more than 67108864 bytes/)
    })
  })

  describe('pre-commit.sh', () => {
    const HOOK = 'echo "checked $(git diff --cached --name-only)" >&2; ! grep -q bad file'
    const install = (folder: string, trust = yes) => installGitHooks(sandbox, folder, { trust, signal })
    const commit = (folder: string, content: string) =>
      sh(`${IDENTITY}; cd "${folder}"; echo ${content} >file; git add file; git commit -q -m x 2>&1; echo $?`)

    test('goes before every commit, and can forbid it; installed twice it runs once', async () => {
      const folder = await project('.openhands/pre-commit.sh', HOOK)
      assert.equal((await install(folder)).outcome, 'done')
      assert.equal((await install(folder)).outcome, 'done')
      assert.equal(await commit(folder, 'good'), 'checked file\n0')
      assert.equal(await commit(folder, 'bad'), 'checked file\n1')
    })

    test('keeps a hook that was there, which goes first and can forbid too', async () => {
      const folder = await project('.openhands/pre-commit.sh', HOOK)
      await sh(
        `cd "${folder}"; printf '#!/bin/sh\\necho old\\n! grep -q worse file' >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit`,
      )
      await install(folder)
      await install(folder)
      assert.equal(await commit(folder, 'good'), 'old\nchecked file\n0')
      assert.equal(await commit(folder, 'worse'), 'old\n1')
    })

    test('works in worktrees, each with the script of its own', async () => {
      const folder = await project('.openhands/pre-commit.sh', HOOK)
      await commit(folder, 'good')
      const other = `${folder}-other`
      await sh(`cd "${folder}"; git worktree add -q "${other}" -b other; mkdir "${other}/.openhands"`)
      await write(other, '.openhands/pre-commit.sh', 'echo other >&2')
      await install(folder)
      await install(other)
      assert.equal(await commit(folder, 'fine'), 'checked file\n0')
      assert.equal(await commit(other, 'fine'), 'other\n0')
    })

    test('that nobody trusts is not installed; one that has changed since is not run', async () => {
      const folder = await project('.openhands/pre-commit.sh', HOOK)
      const refused = await install(folder, no)
      assert.deepEqual([refused.outcome, refused.detail!.includes(hash(HOOK))], ['refused', true])
      assert.equal(await commit(folder, 'bad'), '0')
      await install(folder)
      await write(folder, '.openhands/pre-commit.sh', 'touch ran; exit 1')
      assert.match(await commit(folder, 'worse'), /changed since it was approved, and is not run\n0$/)
      assert.equal(await sh(`ls "${folder}"`), 'file')
    })
  })
})
