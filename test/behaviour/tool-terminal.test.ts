import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { bubblewrap } from '../../src/sandbox/local/bubblewrap.ts'
import { findProgram } from '../support/command.ts'
import { NO_WALLS } from '../support/hands.ts'
import { Inside } from '../support/inside.ts'
import { DEEP } from '../support/server.ts'
import { TerminalTool } from '../support/terminal-tool.ts'
import { until } from '../support/wait.ts'

/** Where programs are when there is to be no bash: links to all others. */
const BIN = '/workspace/.bin'
const LINKS = `mkdir ${BIN}; cd ${BIN}; ln -s /usr/bin/* .; rm -f bash sh`
const BUSYBOX = `for each in $(busybox --list); do [ $each = script ] || [ $each = bash ] || ln -sf /usr/bin/busybox $each; done`

const SHELLS = [
  { name: 'bash', links: undefined, skip: findProgram('bash') === undefined && 'there is no bash' },
  { name: 'dash', links: `${LINKS}; ln -s dash sh`, skip: !DEEP && 'as busybox: npm run test:deep' },
  { name: 'busybox', links: `${LINKS}; ${BUSYBOX}`, skip: findProgram('busybox') === undefined && 'no busybox' },
]

const pairs: [what: string, command: string, output: string, code: number][] = [
  ['what is printed without an end of line', 'printf abc', 'abc', 0],
  ['a code', '(exit 42)', '', 42],
  ['the code of a pipe', 'true | (exit 3)', '', 3],
  ['a program that is not there', 'no-such-program 2>/dev/null', '', 127],
  ['errors among output', 'echo a; echo b >&2; echo c', 'a\nb\nc', 0],
  ['lines', 'for i in 1 2\ndo\n  echo $i\ndone', '1\n2', 0],
  ['a here-document', "cat <<'EOF'\n$x `y` \\\n'\"\nEOF\necho z", '$x `y` \\\n\'"\nz', 0],
  ['quotes of both kinds', `echo "it's" 'a "b"'`, 'it\'s a "b"', 0],
  ['a comment at the end', 'echo a # comment', 'a', 0],
  ['a continued line', 'echo a \\\n  b', 'a b', 0],
  ['an exclamation mark', 'echo "a!b" !c', 'a!b !c', 0],
  ['a percent sign and backslashes', `printf '%s\\n' '%s\\n'`, '%s\\n', 0],
  ['colours', `printf '\\033[31mred\\033[0m plain\\n'`, 'red plain', 0],
  ['a progress bar', `printf '10%%\\r50%%\\r100%%\\n'`, '100%', 0],
  ['a bell and a title', `printf '\\033]0;title\\007a\\007b\\n'`, 'ab', 0],
  ['tabs', `printf 'a\\tb\\n'`, 'a\tb', 0],
  ['text of many languages', 'echo "日本語 ж 🎉"', '日本語 ж 🎉', 0],
  ['an unset status', 'false; true', '', 0],
  ['the reading end of nothing', 'cat </dev/null', '', 0],
]

describe('the terminal', { concurrency: true }, () => {
  for (const { name, links, skip } of SHELLS)
    describe(`with ${name}`, { skip: NO_WALLS || skip, concurrency: false }, () => {
      let inside: Inside
      let terminal: TerminalTool
      before(async () => {
        inside = await Inside.open({ walls: bubblewrap })
        await inside.start('box', links ? { env: { PATH: BIN } } : {})
        if (links) await inside.sh(`PATH=/usr/bin; ${links}`)
        terminal = new TerminalTool(async () => inside.backend.sandbox('box'))
      })
      after(async () => {
        await terminal?.tool.close?.()
        await inside?.[Symbol.asyncDispose]()
      })

      test('it is that shell, in the working directory, with a terminal', async () => {
        const { output, metadata } = await terminal.call(
          `echo \${BASH_VERSION:+bash}; test -t 0 && test -t 1 && tty; pwd`,
        )
        assert.match(output, name === 'bash' ? /^bash\n/ : /^\n/)
        assert.match(output, /\/dev\/.*\n\/workspace$/)
        assert.equal(metadata.working_dir, '/workspace')
        assert.equal(metadata.username, await terminal.says('id -un'))
        assert.equal(`${metadata.pid}`, await terminal.says('echo $$'))
      })

      test('directory, variables, functions, aliases and the last code stay', async () => {
        const first = await terminal.call(
          'mkdir -p "a;b c"; cd "a;b c"; X=1; export Y=2; f() { echo f$1; }; alias g="echo g"; (exit 5)',
        )
        assert.equal(first.exit_code, 5)
        assert.equal(first.metadata.working_dir, '/workspace/a;b c')
        assert.equal(await terminal.says("echo $? $X; sh -c 'echo $Y'; f 3; g; pwd"), '5 1\n2\nf3\ng\n/workspace/a;b c')
        await terminal.says('cd /workspace')
      })

      for (const [what, command, output, code] of pairs)
        test(`output and exit code are exact: ${what}`, async () => {
          const seen = await terminal.call(command)
          assert.deepEqual([seen.output, seen.exit_code, seen.is_error], [output, code, false])
        })

      test('what cannot be parsed is answered with code 2 and leaves nothing behind', async () => {
        for (const command of ['echo "a', "echo 'a", 'if true; then', '}', 'for', 'a() {', 'echo a | | b']) {
          const { exit_code, output } = await terminal.call(command)
          assert.equal(exit_code, 2, command)
          assert.match(output, /syntax|unexpected|EOF|unterminated/i)
          const next = await terminal.call('echo next')
          assert.equal(next.text, `next\n[Exit code 0. Working directory: /workspace]`, command)
        }
      })

      test('options that show or end things hold for one call', async () => {
        assert.match(await terminal.says('set -x; echo a'), /^\++ echo a\na$/)
        assert.equal(await terminal.says('echo b'), 'b')
        await terminal.says('set -v')
        assert.equal((await terminal.call('echo c')).text, 'c\n[Exit code 0. Working directory: /workspace]')
        await terminal.says('set -e')
        assert.equal((await terminal.call('false')).exit_code, 1)
        assert.equal(await terminal.says('echo d'), 'd')
      })

      test('a shell that ends tells its code, and the next call that its shell is new', async () => {
        const ends: [string, number, string][] = [
          ['echo a; exit 3', 3, 'a'],
          ['set -e; echo a; false; echo b', 1, 'a'],
          ['exec sh -c "echo a; exit 7"', 7, 'a'],
          ['echo a; kill -9 $$', 137, 'a'],
        ]
        for (const [command, code, output] of ends) {
          await terminal.says('Z=1')
          const ended = await terminal.call(command)
          assert.deepEqual([ended.exit_code, ended.output], [code, output], command)
          assert.match(ended.metadata.suffix, /shell ended/)
          const next = await terminal.call('echo "[$Z]"')
          assert.match(next.metadata.prefix, /new shell/)
          assert.equal(next.output, '[]')
          assert.equal((await terminal.call('true')).metadata.prefix, '')
        }
      })

      test('what a shell does to its own input and output does not lose it', async () => {
        assert.equal((await terminal.call('exec >/workspace/log; echo hidden')).output, '')
        assert.equal((await terminal.call('echo hidden; exec </dev/null')).exit_code, 0)
        assert.equal((await terminal.call('exec >/dev/tty')).exit_code, 0)
        assert.equal(await terminal.says('cat /workspace/log'), 'hidden\nhidden')
      })

      test('a program that reads gets what is typed, and nothing else', async () => {
        const asked = await terminal.call({ command: 'printf "name? "; read x; echo "[$x]"' })
        assert.deepEqual([asked.exit_code, asked.timeout, asked.output], [-1, false, 'name? '])
        const refused = await terminal.call('echo other')
        assert.deepEqual([refused.is_error, refused.exit_code], [true, -1])
        assert.match(refused.text, /still runs.*is_input.*reset/)
        const answered = await terminal.input("it's $HOME")
        assert.deepEqual([answered.exit_code, answered.output], [0, "[it's $HOME]"])
        const idle = await terminal.input('more')
        assert.equal(idle.is_error, true)
      })

      test('keys reach a program: end of input, interrupt', async () => {
        assert.equal((await terminal.call({ command: 'cat' })).exit_code, -1)
        assert.equal((await terminal.input('line')).output, 'line')
        assert.equal((await terminal.input('')).output, '')
        assert.equal((await terminal.input('C-d')).exit_code, 0)
        assert.equal((await terminal.call({ command: 'sleep 1000' })).exit_code, -1)
        assert.equal((await terminal.input('C-c')).exit_code, 130)
        assert.equal(await terminal.says('echo next'), 'next')
      })

      test('background programs that end while nothing runs do not disturb the shell', async () => {
        await terminal.says('B=1; for i in 1 2 3; do sleep 0.1 & done')
        const gone = () => inside.sh('grep -l 0[.]1 /proc/[0-9]*/cmdline 2>/dev/null')
        await until('they have ended', async () => (await gone()) === '')
        const { output, metadata } = await terminal.call('echo $B')
        assert.match(output, /^1$/m)
        assert.doesNotMatch(metadata.prefix, /shell/)
      })

      test('an empty command tells how things are', async () => {
        const { exit_code, is_error, text } = await terminal.call({ command: '' })
        assert.deepEqual([exit_code, is_error], [0, false])
        assert.match(text, /No command is running/)
      })

      test('what takes too long is interrupted, and if need be killed; the shell stays', async () => {
        const stubborn: [string, number][] = [
          ['echo a; sleep 1000', 130],
          ['echo a; while :; do :; done', 130],
          ['echo a; while :; do sleep 1; done', 130],
          ['echo a; sh -c "trap \'\' INT; sleep 1000; sleep 1000"', 137],
        ]
        await terminal.says('K=kept')
        for (const [command, code] of stubborn) {
          const seen = await terminal.call({ command, timeout: 0.1 })
          assert.deepEqual([seen.timeout, seen.exit_code, seen.output.slice(0, 1)], [true, code, 'a'], command)
          assert.match(seen.metadata.suffix, /Interrupted after 0\.1 s/)
          assert.equal(await terminal.says('echo $K'), 'kept', command)
        }
      })

      test('an interrupt is answered at once, whatever the command thinks of it', async () => {
        for (const command of ['sleep 1000', "trap '' INT; sleep 1000", "trap '' INT; while :; do :; done"]) {
          const abort = new AbortController()
          const called = terminal.call({ command, timeout: 60 }, abort.signal)
          await terminal.call({ command: '' }, AbortSignal.timeout(50)).catch(() => undefined)
          const at = performance.now()
          abort.abort(new Error('enough'))
          await assert.rejects(called, /^Error: enough$/)
          assert.ok(performance.now() - at < 200)
          assert.equal(await terminal.says('trap - INT; echo next'), 'next', command)
        }
      })

      test('a secret is there for its command alone', async () => {
        const secret = `a'b"c $d`
        terminal.secrets = { TOP: secret, 'not-a-name': 'x' }
        assert.equal(await terminal.says('echo "$TOP"; sh -c \'echo "$TOP"\''), `${secret}\n${secret}`)
        assert.equal((await terminal.call({ command: 'sleep 1000 # TOP', timeout: 0.1 })).exit_code, 130)
        assert.equal((await terminal.call('if TOP')).exit_code, 2)
        terminal.secrets = {}
        assert.equal(
          await terminal.says('echo "[$TOP]"; export -p | grep -c TOP || set | grep -c "^TOP="; :'),
          '[]\n0\n0',
        )
        await terminal.says('TOP=mine')
        terminal.secrets = { TOP: secret }
        assert.equal(await terminal.says('echo "$TOP"'), secret)
        terminal.secrets = {}
        assert.equal(await terminal.says('echo "$TOP"; unset TOP'), 'mine')
      })

      test('a command may be longer than any line of a terminal', async () => {
        assert.equal(await terminal.says(`x=${'y'.repeat(200_000)}; echo \${#x}; unset x`), '200000')
        const lines = `it's $x\n`.repeat(20_000)
        assert.equal(await terminal.says(`wc -c <<'EOF'\n${lines}EOF`), `${lines.length}`)
      })

      test('output longer than is read is there from both ends, and whole in a file', async () => {
        const seen = await terminal.call('seq 1 40000')
        assert.ok(seen.text.length < 35_000)
        assert.match(seen.output, /^1\n2\n3\n/)
        assert.match(seen.output, /\n39999\n40000$/)
        const file = /\S+\/\d+\.txt/.exec(seen.output)![0]
        assert.ok(file.startsWith(`${seen.full_output_save_dir}/`))
        assert.equal(await terminal.says(`seq 1 40000 | cmp - ${file} && stat -c %a ${file}`), '600')
      })

      test('a terminal that a program has left in disorder still reads well', async () => {
        assert.equal(await terminal.says('stty sane; stty -echo; printf "a\\nb\\n"'), 'a\nb')
      })

      test('a reset ends everything and starts again', async () => {
        await terminal.says('R=1; cd /; sleep 54321 & setsid sleep 54322 & :')
        assert.equal((await terminal.call({ command: 'cat' })).exit_code, -1)
        const { output, metadata } = await terminal.call({ command: 'echo "[$R]"; pwd', reset: true })
        assert.equal(output, '[]\n/workspace')
        assert.match(metadata.prefix, /new shell/)
        const left = () => inside.sh('grep -l 5432[12] /proc/[0-9]*/cmdline 2>/dev/null')
        await until('nothing is left of the old one', async () => (await left()) === '')
      })
    })
})
