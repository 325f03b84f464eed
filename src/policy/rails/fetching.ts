import type { Command, Word } from '../shell/script.ts'
import { type Call, callsOf } from './call.ts'
import { readOptions } from './options.ts'

const FETCHERS =
  /^(curl|wget|aria2c|axel|http|https|xh|lynx|w3m|elinks|links|fetch|nc|ncat|netcat|socat|telnet|dig|nslookup|host|gh|aws|gsutil|ssh|ftp|lwp-request)$/
const UNPACKERS =
  /^(base32|basenc|xxd|openssl|gpg|uudecode|rev|tr|gunzip|zcat|bunzip2|bzcat|xzcat|unxz|zstdcat|gzip|bzip2|xz|zstd)$/
const FETCHING_CODE = /urllib|urlopen|requests\.get|http\.client|fetch\(|https?\.get|LWP|open-uri|b64decode|atob\(/

/** It brings text from elsewhere, or makes it readable: nobody has seen what comes out. */
function conceals({ name, args }: Call): boolean {
  if (FETCHERS.test(name)) return true
  if (name === 'base64') return args.some(({ text }) => /^(-d|-D|--d)/.test(text) || /^-[a-z]*[dD]/.test(text))
  if (UNPACKERS.test(name)) return true
  return args.some(({ text }) => FETCHING_CODE.test(text)) && /^(python|node|perl|ruby|php)/.test(name)
}

/** Whether what these commands write is something nobody has seen. */
export const isConcealed = (commands: readonly Command[]): boolean =>
  commands.some(command => callsOf(command).some(conceals) || isConcealed(command.words.flatMap(({ inner }) => inner)))

/** Variables that hold something nobody has seen. */
export function taintedBy(commands: readonly Command[]): Set<string> {
  const tainted = new Set<string>()
  const isTainted = ({ inner, variables }: Word) => isConcealed(inner) || variables.some(name => tainted.has(name))
  for (const { assigned, words, upstream, redirects } of commands) {
    for (const { name, value } of assigned) if (isTainted(value)) tainted.add(name)
    const [program, ...names] = words
    const reads = program && /^(read|mapfile|readarray)$/.test(program.text)
    if (reads && (isConcealed(upstream) || redirects.some(({ target }) => isTainted(target))))
      for (const { text } of names) tainted.add(text)
  }
  return tainted
}

/** The names of files that these commands fetch. */
export function fetchedBy(commands: readonly Command[]): Set<string> {
  const found = new Set<string>()
  const add = (text: string | undefined) => {
    const [name = ''] = (text ?? '').split(/[?#]/, 1)
    const last = name.slice(name.lastIndexOf('/') + 1)
    if (last !== '' && last !== '-') found.add(last)
  }
  for (const command of commands) {
    const calls = callsOf(command)
    for (const { name, args } of calls) {
      if (name !== 'curl' && name !== 'wget' && name !== 'aria2c') continue
      const options = readOptions(args, name === 'curl' ? 'oHXdAeuTFbc' : 'OPUo', ['output', 'output-document', 'out'])
      for (const option of ['o', 'output', 'O', 'output-document', 'out'])
        for (const { text } of options.values.get(option) ?? []) add(text)
      if (name !== 'curl' || options.flags.has('O') || options.flags.has('remote-name'))
        for (const { text } of options.operands) add(text)
    }
    if (calls.some(conceals) || isConcealed(command.upstream)) {
      for (const { operator, target } of command.redirects) if (operator.includes('>')) add(target.text)
      for (const { name, args } of calls) if (name === 'tee') for (const { text } of args) add(text)
    }
  }
  return found
}
