import type { Command, Word } from '../shell/script.ts'
import type { Call } from './call.ts'
import { hasLong, readOptions } from './options.ts'
import { type Level, type Rule, worst } from './rule.ts'

const LOCAL = /^(\w+:\/\/)?([^/@]*@)?(localhost|127(\.\d+){3}|0\.0\.0\.0|\[?::1\]?|host\.docker\.internal)([:/?#]|$)/i
const isLocal = ({ text, unknown }: Word) =>
  LOCAL.test(text) && !(unknown && /^\w+:\/\/[^/]*$/.test(text) && !/:$/.test(text))

/** Programs in a substitution that bring nothing of anybody's into it. */
const BLAND =
  /^(uname|date|arch|nproc|id|whoami|hostname|dpkg|lsb_release|go|node|rustc|printf|echo|git|basename|seq|jq|curl|grep|cut|sed|head|tail|tr|awk|sort)$/
/** What of those may still read a file. */
const carries = (word: Word): boolean =>
  word.inner.some(one => readsFiles(one)) || word.variables.some(name => /token|secret|passw|key/i.test(name))

function readsFiles({ words, upstream }: Command): boolean {
  const [program, ...args] = words
  if (!program || !BLAND.test(program.text)) return program !== undefined
  const filters = /^(grep|cut|sed|head|tail|tr|awk|sort|jq)$/.test(program.text)
  return filters && upstream.length === 0 && args.length > 0
}

const curl: Rule = {
  id: 'upload',
  why: 'Sends files or data to another machine',
  judge({ name, args, command }) {
    if (name === 'curl') return curlLevel(args, command)
    if (name === 'wget') {
      const options = readOptions(args, 'OPUo', [
        'post-file',
        'body-file',
        'post-data',
        'body-data',
        'method',
        'header',
        'output-document',
      ])
      if (options.operands.some(isLocal)) return 'LOW'
      if (options.flags.has('post-file') || options.flags.has('body-file') || options.operands.some(carries))
        return 'HIGH'
      return options.flags.has('post-data') || options.flags.has('body-data')
        ? dataLevel([...options.values.values()].flat())
        : 'LOW'
    }
    if (/^(http|https|xh)$/.test(name)) {
      if (args.some(isLocal) || args.some(({ text }) => /^:\d/.test(text))) return 'LOW'
      if (args.some(({ text }) => /@/.test(text)) || command.upstream.length > 0) return 'HIGH'
      return args.some(({ text }) => /^(POST|PUT|PATCH|DELETE)$/.test(text)) ? 'MEDIUM' : 'LOW'
    }
    if (/^(dig|nslookup|host|ping|drill)$/.test(name)) return args.some(carries) ? 'HIGH' : 'LOW'
    return 'LOW'
  },
}

/** What is sent: a file or the output of a command is worse than what is written out. */
const dataLevel = (words: Word[]): Level => (words.some(carries) ? 'HIGH' : 'MEDIUM')

const CURL_VALUES = 'dFTHXAeuobcKmxrwCDEPQtUYyz'
const CURL_LONG =
  'data data-raw data-binary data-urlencode data-ascii json form form-string upload-file header request user-agent user output cookie url proxy max-time connect-timeout retry write-out'.split(
    ' ',
  )

function curlLevel(args: Word[], { upstream }: Command): Level {
  const options = readOptions(args, CURL_VALUES, CURL_LONG)
  const told = (...names: string[]) => names.flatMap(one => options.values.get(one) ?? [])
  const targets = [...options.operands, ...told('url')]
  if (targets.length > 0 && targets.every(isLocal)) return 'LOW'
  if (options.flags.has('T') || hasLong(options, 'upload-file')) return 'HIGH'
  const data = told('d', 'data', 'data-binary', 'data-urlencode', 'data-ascii', 'json')
  const form = told('F', 'form')
  const files = [...data.filter(({ text }) => /^[\w.-]*@/.test(text)), ...form.filter(({ text }) => /=[@<]/.test(text))]
  if (files.length > 0) return 'HIGH'
  const said = [...data, ...form, ...told('data-raw', 'form-string')]
  if (
    targets.some(carries) ||
    told('H', 'header', 'A', 'user-agent', 'b', 'cookie').some(({ inner }) => inner.some(readsFiles))
  )
    return 'HIGH'
  if (said.length > 0) return dataLevel(said)
  const method = told('X', 'request').map(({ text }) => text.toUpperCase())
  if (method.some(text => /^(POST|PUT|PATCH|DELETE)$/.test(text))) return upstream.length > 0 ? 'HIGH' : 'MEDIUM'
  return 'LOW'
}

const REMOTE = /^([\w.-]+@)?[\w.-]+:(?!\/\/)|^(rsync|sftp|scp):\/\//

const copies: Rule = {
  id: 'remote-copy',
  why: 'Copies files to or from another machine or a store in the cloud',
  judge({ name, args }) {
    const operands = readOptions(args, 'PiFolceS', ['rsh', 'exclude', 'include', 'profile', 'region']).operands
    const texts = operands.map(({ text }) => text)
    if (name === 'scp' || name === 'rsync') {
      if (REMOTE.test(texts.at(-1) ?? '')) return 'HIGH'
      return texts.some(text => REMOTE.test(text)) ? 'MEDIUM' : 'LOW'
    }
    if (
      /^(sftp|ftp|lftp|tftp|croc|wormhole|magic-wormhole|transfer|ngrok|cloudflared|localtunnel|lt|bore|chisel)$/.test(
        name,
      )
    )
      return 'HIGH'
    if (name === 'aws')
      return texts[0] === 's3' &&
        /^(cp|sync|mv|rb|rm)$/.test(texts[1] ?? '') &&
        (/^s3:/.test(texts.at(-1) ?? '') || /^r/.test(texts[1]!))
        ? 'HIGH'
        : 'LOW'
    if (name === 'gsutil' || name === 'azcopy')
      return /^(gs|https?):/.test(texts.at(-1) ?? '') && !/^(ls|cat|stat|du)$/.test(texts[0] ?? '') ? 'HIGH' : 'LOW'
    if (name === 'rclone')
      return /^(copy|sync|move|copyto|moveto|rcat|delete|purge)$/.test(texts[0] ?? '') ? 'HIGH' : 'LOW'
    return /^(mail|mailx|mutt|sendmail|msmtp|swaks)$/.test(name) ? 'HIGH' : 'LOW'
  },
}

const sockets: Rule = {
  id: 'raw-socket',
  why: 'Opens a connection through which anything can pass',
  judge(call) {
    const { name, args, command } = call
    const devices = command.redirects.some(({ target }) => /^\/dev\/(tcp|udp)\//.test(target.text))
    if (devices || args.some(({ text }) => /^\/dev\/(tcp|udp)\//.test(text))) return 'HIGH'
    if (/^(nc|ncat|netcat)$/.test(name)) return netcatLevel(call)
    if (name === 'socat') return 'HIGH'
    if (name === 'telnet') return args.some(isLocal) ? 'LOW' : 'MEDIUM'
    if (name === 'openssl') return args[0]?.text === 's_client' ? 'MEDIUM' : 'LOW'
    if (name === 'ssh') {
      const options = readOptions(args, 'bcDEeFIiJLlmOopQRSWw')
      return command.upstream.length > 0 || options.flags.has('R') || options.flags.has('D')
        ? 'HIGH'
        : options.operands.length > 0
          ? 'MEDIUM'
          : 'LOW'
    }
    const serves =
      /^python[\d.]*$/.test(name) &&
      /-m (http\.server|SimpleHTTPServer|pyftpdlib)/.test(args.map(({ text }) => text).join(' '))
    return serves ? 'MEDIUM' : 'LOW'
  },
}

function netcatLevel({ args, command }: Call): Level {
  const options = readOptions(args, 'ecpswiqXx')
  if (options.flags.has('e') || options.flags.has('c') || hasLong(options, 'exec') || hasLong(options, 'sh-exec'))
    return 'HIGH'
  const local = options.operands.some(isLocal)
  if (options.flags.has('z')) return local ? 'LOW' : 'MEDIUM'
  if (local && !options.flags.has('l')) return 'LOW'
  return worst(['MEDIUM', options.flags.has('l') && command.upstream.length === 0 ? 'MEDIUM' : 'HIGH'])
}

export const networkRules: Rule[] = [curl, copies, sockets]
