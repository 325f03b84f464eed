import type { Random } from './random.ts'

/** Ways to write "the folder above", for whoever decodes once too often, too seldom or too kindly. */
const UP = [
  '..',
  '%2e%2e',
  '.%2e',
  '%2E.',
  '%252e%252e',
  '%25252e%25252e',
  '..%00',
  '..;',
  '..%20',
  '..%0a',
  '..%0d%0a',
  '%c0%ae%c0%ae',
  '%e0%80%ae%e0%80%ae',
  '%u002e%u002e',
  '%ef%bc%8e%ef%bc%8e',
  '%e2%80%a5',
  '%2e%2e%2e',
  '..\\..',
  '..%5c..',
  '.',
  './..',
  '%2e/..',
  'sub/../..',
  'none/../..',
]
const SLASH = ['/', '//', '/./', '%2f', '%2F', '%252f', '%5c', '%c0%af', '%ef%bc%8f', '/%2f/']
const BEFORE = ['', '/', './', 'sub/', 'sub/deep/', 'link/', 'up/', 'none/', '~/', 'file:///', '%00/', 'C:%5c']
const AFTER = ['', '', '', '/', '%00', '%00.html', '/.', '%20', '?', '#', ';.html', '%0a']

export interface Place {
  /** The folder to stay in, which has `sub/deep`, `link` (to a file outside), `up` (to the folder outside). */
  root: string
  /** Files outside, from the folder above the root. */
  outside: readonly string[]
}

/** Paths that lead out of a folder for whoever is fooled, percent-encoded as they are to be sent, below that folder. */
export function escapes({ root, outside }: Place, random: Random, count: number): string[] {
  const absolute = root.slice(0, root.lastIndexOf('/'))
  const found = new Set<string>(plain(root, outside))
  while (found.size < count) {
    const up = random.pick(UP)
    const slash = random.pick(SLASH)
    const target = random.pick(outside)
    const ups = Array.from({ length: 1 + random.int(8) }, () => (random.next() < 0.8 ? up : random.pick(UP)))
    const path = random.pick([
      () => [...ups, target].join(slash),
      () => [...ups, sent(absolute).slice(1), target].join(slash),
      () => `${slash}${sent(absolute)}${slash}${target}`,
      () => `${sent(root)}${slash}${ups.join(slash)}${slash}${target}`,
      () => `up${slash}${random.pick(['', './', 'up/'])}${target}`,
    ])()
    found.add(`${random.pick(BEFORE)}${path}${random.pick(AFTER)}`)
  }
  return [...found].slice(0, count)
}

/** The best known ones, always among them. */
function plain(root: string, outside: readonly string[]): string[] {
  const above = root.slice(0, root.lastIndexOf('/'))
  return outside.flatMap(target => [
    `../${target}`,
    `..%2f${target}`,
    `%2e%2e/${target}`,
    `sub/../../${target}`,
    `/${sent(above)}/${target}`,
    `%2f${sent(above)}/${target}`,
    `up/${target}`,
    `up%2f${target}`,
    `sub/up/${target}`,
    `link`,
    `link%00`,
    `chain`,
    `${'a/'.repeat(500)}${'../'.repeat(501)}${target}`,
    `${'x'.repeat(300)}/../../${target}`,
    `${'x/'.repeat(3000)}`,
  ])
}

const sent = (path: string): string => path.split('/').map(encodeURIComponent).join('/')
