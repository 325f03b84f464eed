import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAnsi, plainText } from '../../web/ui/ansi-parse.ts'
import { compare, unified } from '../../web/ui/diff-rows.ts'
import { Chunker } from '../../web/ui/virtual-chunks.ts'

/** What the page makes of texts before it draws them. */

const ESC = '\u001b'

test('colours and looks of a terminal begin and end where it says so', () => {
  const seen = parseAnsi(`a${ESC}[1;31mb${ESC}[22mc${ESC}[38;5;208md${ESC}[48;2;1;2;3me${ESC}[mf${ESC}[94mg`)
  assert.deepEqual(
    seen.map(({ text, looks, colour, ground }) => [text, looks.join(' '), colour, ground]),
    [
      ['a', '', undefined, undefined],
      ['b', 'bold fg-1', undefined, undefined],
      ['c', 'fg-1', undefined, undefined],
      ['d', '', 'rgb(255 135 0)', undefined],
      ['e', '', 'rgb(255 135 0)', 'rgb(1 2 3)'],
      ['f', '', undefined, undefined],
      ['g', 'fg-12', undefined, undefined],
    ],
  )
})

test('whatever else steers a terminal leaves no trace, and progress is shown as it was last', () => {
  const link = `${ESC}]8;;https://example.com${ESC}\\link${ESC}]8;;\u0007`
  assert.equal(plainText(`10%\r50%\r100%\r\n${link}${ESC}[2K${ESC}(B\u0007\tend`), '100%\nlink\tend')
  assert.equal(plainText(`cut ${ESC}[3`), 'cut [3')
})

test('a diff pairs lines that changed, counts them, and marks what differs within', () => {
  const changes = compare('one\nlet sum = 0\nthree\n', 'one\nlet sum = 1\nthree\nfour\n')!
  assert.deepEqual([changes.added, changes.removed], [2, 1])
  assert.deepEqual(
    changes.rows.map(({ kind, before, after }) => [kind, before?.number, after?.number]),
    [
      ['same', 1, 1],
      ['changed', 2, 2],
      ['same', 3, 3],
      ['changed', undefined, 4],
    ],
  )
  assert.deepEqual(
    changes.rows[1]!.after!.pieces.filter(({ marked }) => marked).map(({ text }) => text),
    ['1'],
  )
  assert.deepEqual(
    unified(changes.rows).map(({ before, after }) => [before?.number, after?.number]),
    [
      [1, 1],
      [2, undefined],
      [undefined, 2],
      [3, 3],
      [undefined, 4],
    ],
  )
  assert.deepEqual(compare('same', 'same')!.rows, [])
})

test('a comparison that would take too long is given up', () => {
  const long = 'a line of text\n'.repeat(30_000)
  assert.equal(compare(long, long.replaceAll('text', 'words')), undefined)
})

test('a list that grows at both ends is cut where it was cut before', () => {
  const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at)
  const chunker = new Chunker<number>(String)
  const first = chunker.cut(numbers(100, 200))
  const later = chunker.cut(numbers(0, 210))
  assert.deepEqual(
    later.map(({ key, items }) => [key, items.length]),
    [
      [-3, 20],
      [-2, 40],
      [-1, 40],
      [0, 40],
      [1, 40],
      [2, 30],
    ],
  )
  assert.equal(later[3], first[0])
})
