import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { bubblewrap } from '../../src/sandbox/local/bubblewrap.ts'
import { ProcessBackend } from '../../src/sandbox/process.ts'
import type { Command, Sandbox } from '../../src/sandbox/sandbox.ts'
import { findProgram } from '../support/command.ts'
import { NO_WALLS } from '../support/hands.ts'
import { Inside } from '../support/inside.ts'
import { Random } from '../support/random.ts'
import { count, tempFolder } from '../support/server.ts'
import { type Seen, TerminalTool } from '../support/terminal-tool.ts'
import { until } from '../support/wait.ts'

const NO_BASH = findProgram('bash') === undefined && 'there is no bash'

describe('terminals and the world around them', { skip: NO_WALLS || NO_BASH }, () => {
  let inside: Inside
  before(async () => {
    inside = await Inside.open({ walls: bubblewrap })
    await inside.start('box')
  })
  after(() => inside?.[Symbol.asyncDispose]())

  const open = (waits = {}) => new TerminalTool(async () => inside.backend.sandbox('box'), waits)
  /** One whose commands can be looked at. They reach as much as ever. */
  const watched = () => {
    const sandbox = inside.backend.sandbox('box')
    const started: Command[] = []
    const exec: Sandbox['exec'] = command => {
      started.push(command)
      return sandbox.exec({ ...command, egress: undefined })
    }
    const { id, home, workingDir } = sandbox
    return { started, terminal: new TerminalTool(async () => ({ ...sandbox, id, home, workingDir, exec })) }
  }
  /** Processes in the sandbox whose arguments have this. Not to be found in the question itself. */
  const alive = async (what: string) =>
    (await inside.sh(`grep -l ${what.replace(/.$/, '[$&]')} /proc/[0-9]*/cmdline 2>/dev/null`)) !== ''

  /** Whether something in the sandbox bears the mark of this conversation. */
  const bears = async (conversation: string) =>
    (await inside.sh(`grep -lsF GANTRY_TERMINAL=${conversation} /proc/[0-9]*/environ`)) !== ''

  test('a flood is bounded in memory, and stored up to a limit', async () => {
    await using terminal = open()
    const megabytes = count({ sample: 20, deep: 100 })
    await terminal.says('true')
    const before = process.memoryUsage().rss
    const seen = await terminal.call({ command: `yes 0123456789 | head -c ${megabytes}000000`, timeout: 100 })
    assert.equal(seen.exit_code, 0)
    assert.ok(process.memoryUsage().rss - before < 60e6, `${(process.memoryUsage().rss - before) / 1e6} MB`)
    assert.ok(seen.text.length < 35_000)
    const file = /\S+\/\d+\.txt/.exec(seen.output)![0]
    assert.equal(await terminal.says(`stat -c %s ${file}`), `${Math.min(megabytes * 1e6, 64 * 1024 * 1024)}`)
  })

  test('where output cannot be stored as fast as it comes, it comes more slowly', async () => {
    const sandbox = inside.backend.sandbox('box')
    let taken = 0
    const slow = new Writable({
      write: chunk => {
        taken += chunk.length
      },
    })
    const exec: Sandbox['exec'] = async command => {
      const started = await sandbox.exec(command)
      return command.argv[2]?.includes('exec cat') ? { ...started, stdin: slow } : started
    }
    const { id, home, workingDir } = sandbox
    await using terminal = new TerminalTool(async () => ({ ...sandbox, id, home, workingDir, exec }))
    const abort = new AbortController()
    const called = terminal.call({ command: 'yes', timeout: 100 }, abort.signal)
    await until('some was stored', () => taken > 0)
    for (let n = 0; n < 10; n++) await inside.sh('true')
    assert.ok(slow.writableLength < 500_000, `${slow.writableLength} bytes wait`)
    abort.abort(new Error('enough'))
    await assert.rejects(called, /enough/)
  })

  test('of stored outputs the last few are kept', async () => {
    await using terminal = open()
    for (let n = 0; n < 10; n++) await terminal.says('seq 1 10000')
    const { full_output_save_dir } = await terminal.call('seq 1 10000')
    assert.equal(
      await terminal.says(`ls ${full_output_save_dir} | sort -n | tr '\\n' ' '`),
      '4.txt 5.txt 6.txt 7.txt 8.txt 9.txt 10.txt 11.txt ',
    )
  })

  test('an output that cannot be stored is told from both ends all the same', async () => {
    await using terminal = open()
    await terminal.says('rm -rf ~/.cache; : > ~/.cache')
    const seen = await terminal.call('seq 1 40000')
    assert.equal(seen.full_output_save_dir, null)
    assert.match(seen.output, /^1\n.*could not be stored.*\n40000$/s)
    await terminal.says('rm ~/.cache')
  })

  test('bytes that are no text do no harm', async () => {
    await using terminal = open()
    const { exit_code } = await terminal.call('head -c 200000 /dev/urandom; printf "\\033]unfinished"')
    assert.equal(exit_code, 0)
    assert.equal(await terminal.says('echo next'), 'next')
  })

  describe('side by side', { concurrency: true }, () => {
    test('random commands print and return what bash -c does', async () => {
      await using terminal = open()
      const random = new Random()
      const words = [
        'a',
        '"b  c"',
        "'$x'",
        '$x',
        '"$x"y',
        '$(echo d)',
        '`echo e`',
        '*.none',
        '\\\\',
        '"\\""',
        "$'f\\tg'",
        '#h',
        '~',
        '{1..3}',
        '$((1+2))',
        '"!!"',
      ]
      const word = () => random.pick(words)
      const simple = () =>
        random.pick([
          () => `echo ${word()} ${word()}`,
          () => `printf '%s|' ${word()} ${word()}`,
          () => `(exit ${random.int(200)})`,
          () => 'false',
          () => `x=${word()}`,
          () => `[ ${word()} = ${word()} ]`,
          () => `cat <<EOF\n${word()} ${word()}\nEOF\n`,
          () => `f() { echo f "$1"; return ${random.int(9)}; }\nf ${word()}`,
          () => `case ${word()} in a*) echo A;; *) echo other;; esac`,
          () => `sh -c 'exit ${random.int(100)}'`,
        ])()
      const command = (depth: number): string =>
        depth === 0
          ? simple()
          : random.pick([
              () => `${command(depth - 1)}\n${command(depth - 1)}`,
              () => `{ ${command(depth - 1)}\n}`,
              () => `( ${command(depth - 1)}\n)`,
              () => `if ${simple()}\nthen ${command(depth - 1)}\nelse ${command(depth - 1)}\nfi`,
              () => `for i in 1 2; do\n${command(depth - 1)}\ndone`,
              () => `{ ${command(depth - 1)}\n} | tr a-f A-F`,
              () => `${simple()}\n[ $? = 0 ] && ${simple()}`,
              () => `set -e\n${command(depth - 1)}`,
              () => `${simple()} # ${word()}`,
              () => `${simple()} ${word()}'`,
            ])()
      for (let n = 0; n < count({ sample: 40, deep: 300 }); n++) {
        const text = command(random.int(4))
        const plain = await inside.run(['bash', '-c', 'cd /workspace; unset x f; eval "$1" 2>/dev/null', 'bash', text])
        const seen = await terminal.call(`exec 2>/dev/null; unset x; unset -f f\n${text}`)
        const printed = plain.stdout.toString()
        const where = `seed ${random.seed}, ${JSON.stringify(text)}`
        assert.deepEqual([seen.output, seen.exit_code], [printed.replace(/\n$/, ''), plain.code], where)
      }
    })

    test('a program to talk to', {
      skip: findProgram('python3', path => path.startsWith('/usr/')) === undefined && 'no python',
    }, async () => {
      await using terminal = open()
      const hear = async (seen: Promise<Seen>, pattern: RegExp) => {
        let { output } = await seen
        await until(`it said ${pattern}`, async () => {
          if (!pattern.test(output)) output += (await terminal.input('')).output
          return pattern.test(output)
        })
      }
      await hear(terminal.call({ command: 'python3 -q' }), />>> $/)
      await hear(terminal.input('6 * 7'), /^42\n>>> $/m)
      await hear(terminal.input('def f():\n    return "many" + "lines"\n\n'), />>> $/)
      await hear(terminal.input('f()'), /manylines/)
      let ended = await terminal.input('import sys; sys.exit(4)')
      while (ended.exit_code === -1) ended = await terminal.input('')
      assert.equal(ended.exit_code, 4)
      assert.equal(await terminal.says('echo next'), 'next')
    })

    test('lines of input that a terminal would cut are refused', async () => {
      await using terminal = open()
      await terminal.call({ command: 'cat > /dev/null' })
      assert.equal((await terminal.input('x'.repeat(5000))).is_error, true)
      assert.equal((await terminal.input('x'.repeat(4000))).is_error, false)
      assert.equal((await terminal.input('C-d')).exit_code, 0)
    })

    test('a command that goes on printing is told of all the same', async () => {
      await using terminal = open({ quiet: 2_000, longest: 500 })
      const seen = await terminal.call({ command: 'while echo x; do sleep 0.05; done' })
      assert.deepEqual([seen.exit_code, seen.timeout], [-1, false])
      assert.match(seen.output, /^x\nx\n/)
      assert.equal((await terminal.input('C-c')).exit_code, 130)
    })

    test('what a command that still ran has come to is told before the next one', async () => {
      await using terminal = open()
      assert.equal((await terminal.call({ command: 'sleep 1; echo late; (exit 9)' })).exit_code, -1)
      const next = await until('it has ended', async () => {
        const seen = await terminal.call('echo next')
        return seen.is_error ? undefined : seen
      })
      assert.match(next.metadata.prefix, /exit code 9.*late/s)
      assert.equal(next.output, 'next')
    })

    test('what is printed in the background is not mistaken for a command’s output', async () => {
      await using terminal = open()
      await terminal.says('{ sleep 0.2; echo from behind; echo > /workspace/told; } &')
      await until('it was printed', async () => (await inside.sh('ls /workspace')).includes('told'))
      const seen = await until('it was heard', async () => {
        const { metadata, output } = await terminal.call('echo own')
        assert.equal(output.replace(/\n?\[1\].*/, ''), 'own')
        return metadata.prefix.includes('from behind')
      })
      assert.equal(seen, true)
    })

    test('two terminals of one sandbox do not disturb each other', async () => {
      await using one = open()
      await using two = open()
      await Promise.all([one.says('X=1; cd /tmp'), two.says('X=2; cd /home')])
      for (let n = 0; n < 10; n++)
        assert.deepEqual(await Promise.all([one.says(`echo $X ${n}; pwd`), two.says(`echo $X ${n}; pwd`)]), [
          `1 ${n}\n/tmp`,
          `2 ${n}\n/home`,
        ])
      await one.tool.close?.()
      assert.equal(await two.says('echo $X'), '2')
    })
  })

  test('closing ends everything that was started', async () => {
    const terminal = open()
    await terminal.says('sleep 65431 & setsid sleep 65432 & nohup sleep 65433 >/dev/null 2>&1 & :')
    await terminal.call({ command: 'sleep 65434' })
    for (const n of [1, 2, 3, 4]) await until('they run', () => alive(`6543${n}`))
    await terminal.tool.close?.()
    for (const n of [1, 2, 3, 4]) await until('they have ended', async () => !(await alive(`6543${n}`)))
    assert.equal(await inside.sh(`ls -d /tmp/shell-${terminal.conversation}* 2>/dev/null`), '', 'no pipe is left')
  })

  test('settings of the person are read, unless they keep the shell from starting', async () => {
    await using terminal = open({ start: 500 })
    await terminal.says("echo 'export MINE=yes; set -o history; PS1=prompt' > ~/.bashrc")
    const { output, metadata } = await terminal.call({ command: 'echo $MINE; history', reset: true })
    assert.equal(output, 'yes')
    assert.match(metadata.prefix, /^\[This is a new shell[^\n]*\]\n$/)
    const settings = ['exit 3', 'exec sleep 1000', 'set -e; false', 'while :; do :; done']
    for (const bad of settings.slice(0, count({ sample: 2, deep: 4 }))) {
      await terminal.says(`echo '${bad}' > ~/.bashrc`)
      assert.equal((await terminal.call({ command: 'echo here', reset: true })).output, 'here', bad)
    }
    await terminal.says('rm ~/.bashrc')
  })

  test('a sandbox that was stopped in between gives a new shell, which is said', async () => {
    await using terminal = open()
    await terminal.says('X=1')
    await terminal.call({ command: 'sleep 1000' })
    await inside.restart('box')
    assert.match((await terminal.input('')).text, /sandbox went away|shell ended/)
    const seen = await terminal.call('echo "[$X]"')
    assert.match(seen.metadata.prefix, /new shell/)
    assert.equal(seen.output, '[]')
    await inside.restart('box')
    const again = await terminal.call('echo again')
    assert.match(again.metadata.prefix, /new shell/)
    assert.equal(again.output, 'again')
  })

  test('a sandbox that was frozen in between keeps its shell', async () => {
    await using terminal = open()
    await terminal.says('X=1')
    await inside.backend.pause('box')
    await inside.backend.resume('box')
    assert.equal(await terminal.says('echo $X'), '1')
  })

  test('a working directory that was removed is made again; where that cannot be, it says so', async () => {
    const { home, exec, connect } = inside.backend.sandbox('box')
    const sandbox = inside.backend.sandbox('box')
    const at = (workingDir: string) =>
      new TerminalTool(async () => ({
        id: 'box',
        home,
        workingDir,
        exec: c => exec.call(sandbox, c),
        connect: p => connect.call(sandbox, p),
      }))
    await using removed = at('/workspace/removed/meanwhile')
    assert.equal(await removed.says('pwd'), '/workspace/removed/meanwhile')
    await using impossible = at('/proc/nowhere')
    const { is_error, text } = await impossible.call('true')
    assert.equal(is_error, true)
    assert.match(text, /\/proc\/nowhere/)
  })

  test('a shell that was begun early is the one that is used, and ends with its run when it was not', async () => {
    const { started, terminal } = watched()
    await using _ = terminal
    const run = new AbortController()
    terminal.warm(run.signal)
    await until('it has begun', () => started.length > 0)
    const { metadata } = await terminal.call('true')
    assert.equal(started.filter(({ pty }) => pty).length, 1)
    run.abort()
    assert.equal((await terminal.call('true')).metadata.pid, metadata.pid, 'what is used ended with its run')
    assert.equal(metadata.prefix, '')

    for (const moment of ['at once', 'soon', 'late']) {
      const unused = open()
      const over = new AbortController()
      unused.warm(over.signal)
      if (moment === 'soon') await until('it starts', () => alive(unused.conversation))
      if (moment === 'late') await until('it is there', () => bears(unused.conversation))
      over.abort()
      const gone = async () => !(await bears(unused.conversation)) && !(await alive(unused.conversation))
      if (moment === 'late') await until('it has ended', gone)
      await unused.tool.close?.()
      assert.ok(await gone(), `it is left behind when its run ends ${moment}`)
      await using next = open()
      next.conversation = unused.conversation
      await next.says('true')
      assert.equal(await inside.sh(`ls -d /tmp/shell-${next.conversation}* 2>/dev/null`), '', 'a pipe is left')
    }
  })

  test('closing ends a shell that was begun early', async () => {
    const terminal = open()
    terminal.warm(new AbortController().signal)
    await until('it is there', () => bears(terminal.conversation))
    await terminal.tool.close?.()
    assert.equal(await bears(terminal.conversation), false)
  })

  test('an early shell that cannot be started is tried again when it is needed', async () => {
    const sandbox = inside.backend.sandbox('box')
    let fails = true
    await using terminal = new TerminalTool(async () => {
      if (fails) throw new Error('not just now')
      return sandbox
    })
    terminal.warm(new AbortController().signal)
    fails = false
    assert.equal(await terminal.says('echo there'), 'there')
  })

  test('what a shell left running under a server that died is ended before the next of its conversation', async () => {
    const lost = open()
    const other = open()
    await Promise.all([
      lost.says('sleep 65441 & setsid sleep 65442 & nohup sleep 65443 >/dev/null 2>&1 & :'),
      other.says('sleep 65444 & :'),
    ])
    await lost.call({ command: 'sleep 65445' })
    await using next = open()
    next.conversation = lost.conversation
    assert.equal(await next.says('echo here'), 'here')
    for (const n of [1, 2, 3, 5]) assert.equal(await alive(`6544${n}`), false, `6544${n} runs on`)
    assert.equal(await alive('65444'), true, 'that of another conversation was ended')
    await Promise.all([lost.tool.close?.(), other.tool.close?.()])
  })

  test('the shell may reach what the conversation may', async () => {
    const { terminal, started } = watched()
    await using _ = terminal
    terminal.egress = { mode: 'hosts', hosts: ['example.org'] }
    await terminal.says('true')
    assert.deepEqual(started.find(({ pty }) => pty)?.egress, terminal.egress)
  })

  test('a reset takes along an output that was being stored', async () => {
    await using terminal = open()
    await terminal.call({ command: 'sleep 0.6; seq 1 40000; sleep 1000' })
    const storing = async () => (await inside.sh('ls -l /proc/[0-9]*/fd/1 2>/dev/null')).includes('terminal-output')
    await until('it is being stored', storing)
    await terminal.call({ reset: true })
    await until('nothing is stored any more', async () => !(await storing()), 3_000)
  })

  test('one that is interrupted before it has begun runs nothing', async () => {
    await using terminal = open()
    const abort = new AbortController()
    const called = terminal.call('echo > /workspace/ran', abort.signal)
    abort.abort(new Error('no'))
    await assert.rejects(called, /no/)
    assert.equal(await terminal.says('ls /workspace/ran 2>&1 | grep -c "No such"'), '1')
  })
})

test('without walls the terminal works the same', { skip: NO_BASH }, async () => {
  const folder = await tempFolder()
  const backend = new ProcessBackend(join(folder, 'sandboxes'))
  const limits = { memoryBytes: 1e9, processes: 100, cpus: 1, diskBytes: 1e9 }
  await backend.start({ id: 'a', workingDir: '/w', env: {}, limits, egress: { mode: 'none' }, grants: [] })
  {
    await using terminal = new TerminalTool(async () => backend.sandbox('a'))
    await terminal.says('X=1; cd /')
    assert.equal(await terminal.says('echo $X; pwd'), '1\n/')
    assert.equal((await terminal.call({ command: 'sleep 1000', timeout: 0.1 })).exit_code, 130)
    assert.equal((await terminal.call('exit 3')).exit_code, 3)
    assert.equal(await terminal.says('echo "[$X]"'), '[]')
  }
  await backend.close()
  await rm(folder, { recursive: true, force: true })
})
