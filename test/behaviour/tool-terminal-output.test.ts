import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { keysFor } from '../../src/agent/tools/terminal/keys.ts'
import { type Mark, Marks } from '../../src/agent/tools/terminal/marks.ts'
import { Screen } from '../../src/agent/tools/terminal/screen.ts'
import { Random } from '../support/random.ts'
import { count } from '../support/server.ts'

const shown = (...pieces: string[]): string => {
  const screen = new Screen()
  return pieces.map(piece => screen.write(piece)).join('') + screen.flush()
}

/** The same in pieces, cut anywhere. */
function* cut(text: string, random: Random): Generator<string> {
  for (let at = 0; at < text.length; ) {
    const size = 1 + random.int(random.pick([1, 4, 30]))
    yield text.slice(at, at + size)
    at += size
  }
}

describe('what is read from a terminal', () => {
  const looks: [what: string, printed: string, read: string][] = [
    ['lines', 'a\nb\n\nc', 'a\nb\n\nc'],
    ['lines that end with both', 'a\r\nb\r\r\nc', 'a\nb\nc'],
    ['a line overwritten', 'abc\rx', 'xbc'],
    ['a line erased and written again', 'long text\r\x1b[Kshort\n', 'short\n'],
    ['a line erased whole', 'long text\x1b[2K\rx\n', 'x\n'],
    ['erased up to the cursor', 'abcd\x1b[2D\x1b[1K\n', '  cd\n'],
    ['backspaces', 'abc\b\bX\n', 'aXc\n'],
    ['backspaces beyond the beginning', '\b\b\bx', 'x'],
    ['columns', 'a\x1b[5Gb\x1b[2Cc', 'a   b  c'],
    ['colours', '\x1b[1;38;5;9mred\x1b[m', 'red'],
    ['private modes and the other screen', '\x1b[?1049h\x1b[?25lx\x1b[?1049l', 'x'],
    ['titles and links', '\x1b]0;t\x07a\x1b]8;;http://x\x1b\\b\x1b]8;;\x1b\\', 'ab'],
    ['character sets and keypads', '\x1b(Ba\x1b=b\x1b>c\x1b7d\x1b8', 'abcd'],
    ['a screen drawn here and there', '\x1b[2J\x1b[1;1Hone\x1b[2;1Htwo\x1b[3;1H', 'one\ntwo\n'],
    ['bells and other controls', 'a\x07b\x00c\x7fd\x0ee', 'abcde'],
    ['tabs', 'a\tb', 'a\tb'],
    ['a sequence that never ends', 'a\x1b]0;no end\nb', 'a]0;no end\nb'],
    ['an escape at the very end', 'a\x1b', 'a'],
    ['control characters of eight bits', 'a\x9bb', 'ab'],
  ]
  for (const [what, printed, read] of looks)
    test(`${what}`, () => {
      assert.equal(shown(printed), read)
      assert.equal(shown(...printed), read, 'one character at a time')
    })

  test('it does not matter how output is cut into pieces', () => {
    const random = new Random()
    const bits = [
      'a',
      'text ',
      '\n',
      '\r',
      '\b',
      '\x1b[31m',
      '\x1b[K',
      '\x1b[3C',
      '\x1b]0;t\x07',
      '\x1b[',
      '\x1b',
      '\x1b]x',
      '\x07',
      '😀',
    ]
    for (let n = 0; n < count({ sample: 500, deep: 20_000 }); n++) {
      const text = Array.from({ length: random.int(30) }, () => random.pick(bits)).join('')
      assert.equal(shown(...cut(text, random)), shown(text), `seed ${random.seed} ${JSON.stringify(text)}`)
    }
  })

  test('a line without an end, and a sequence without one, are not held for ever', () => {
    const screen = new Screen()
    assert.ok(screen.write('x'.repeat(1_000_000)).length > 900_000)
    assert.ok((screen.write(`\x1b]${'y'.repeat(5_000)}`) + screen.write('z'.repeat(10_000))).includes('zzz'))
  })

  test('megabytes of noise are read in moments', () => {
    const random = new Random()
    const noise = String.fromCharCode(...Array.from({ length: 60_000 }, () => random.int(256)))
    const at = performance.now()
    const screen = new Screen()
    for (let n = 0; n < 20; n++) screen.write(noise)
    assert.ok(performance.now() - at < 2_000)
  })
})

describe('marks between the output', () => {
  const told = (chunks: Iterable<string>) => {
    const marks: Mark[] = []
    let output = ''
    const reader = new Marks(
      'T0K',
      bytes => (output += bytes.toString('latin1')),
      mark => marks.push(mark),
    )
    for (const chunk of chunks) reader.write(Buffer.from(chunk, 'latin1'))
    return { marks, output }
  }

  test('are found however they are cut, and what only looks like one is output', () => {
    const random = new Random()
    const bits = ['a', '\n', '\x1b', '\x1b]', '\x1b]T0', '\x1b]T0K', 'T0K;', ';', '\x07', '\x1b[0m']
    for (let n = 0; n < count({ sample: 500, deep: 20_000 }); n++) {
      const before = Array.from({ length: random.int(8) }, () => random.pick(bits)).join('')
      const after = 'rest\n'
      const directory = random.pick(['/w', '/a;b', '/with\nline', '/bell\x07;'])
      const text = `${before}.\x1b]T0K;7;130;${directory};T0K\x07${after}`
      const seen = told(cut(text, random))
      assert.deepEqual(
        seen,
        { marks: [{ number: 7, code: 130, text: directory }], output: `${before}.${after}` },
        `seed ${random.seed}`,
      )
    }
  })

  test('one that does not end is let go', () => {
    const { marks, output } = told([`\x1b]T0K;1;0;${'x'.repeat(20_000)}`, 'more'])
    assert.deepEqual(marks, [])
    assert.match(output, /x{20000}more$/)
  })
})

test('keys are sent as a keyboard would', () => {
  const keys: [string, string][] = [
    ['C-c', '\x03'],
    ['C-D', '\x04'],
    ['C-\\', '\x1c'],
    ['UP', '\x1b[A'],
    ['ENTER', '\r'],
    ['yes', 'yes\r'],
    ['yes\n', 'yes\r'],
    ['a\nb\n\n', 'a\rb\r\r'],
    ['C-cc', 'C-cc\r'],
    ['', '\r'],
  ]
  for (const [input, sent] of keys) assert.equal(keysFor(input), sent, JSON.stringify(input))
})
