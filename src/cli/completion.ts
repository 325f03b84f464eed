import type { Option } from './command.ts'
import { commands } from './index.ts'
import { exit, type Io, say } from './io.ts'

/** `gantry completion`: a script for a shell, made from the table of commands. */
export async function completion(io: Io, _options: object, [shell]: string[]): Promise<number> {
  const parts = await Promise.all(
    Object.entries(commands).map(async ([name, command]): Promise<Part> => {
      const options = Object.entries<Option>(await command.options())
      return { name, summary: command.summary, options, words: command.words.flatMap(word => word.choices ?? []) }
    }),
  )
  say(io.stdout, SCRIPTS[shell as keyof typeof SCRIPTS](parts))
  return exit.finished
}

interface Part {
  name: string
  summary: string
  options: [name: string, option: Option][]
  /** What may follow it, as far as that is known. */
  words: string[]
}

/** Whether its value is a file or folder. */
const isPath = ({ value }: Option): boolean => value === 'FILE' || value === 'DIR'
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
/** Nothing of a help text may mean something to a shell. */
const plain = (text: string): string => text.replace(/[^\w\s.,-]/g, '')

const bash = (parts: Part[]): string => `# bash completion for gantry
_gantry() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} command=\${COMP_WORDS[1]}
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ] && [ "\${word#-}" = "$word" ]; then
    COMPREPLY=($(compgen -W ${quoted(parts.map(({ name }) => name).join(' '))} -- "$word"))
    return
  fi
  case "$command $before" in
${choicesOf(parts)
  .map(
    ({ name, option, choices }) =>
      `    "${name} --${option}") COMPREPLY=($(compgen -W ${quoted(choices.join(' '))} -- "$word")); return ;;`,
  )
  .join('\n')}
    ${pathsOf(parts)
      .map(option => `*" --${option}"`)
      .join('|')}) COMPREPLY=($(compgen -f -- "$word")); return ;;
  esac
  case "$command" in
${parts
  .map(({ name, options, words }) => {
    const dashed = new Set([...options.map(([option]) => option), 'help']).values().map(option => `--${option}`)
    // Options only where one is begun: without words of its own a command has the shell offer files.
    const offer = (all: Iterable<string>) => `COMPREPLY=($(compgen -W ${quoted([...all].join(' '))} -- "$word"))`
    return `    ${name === 'serve' ? 'serve|-*' : name}) case "$word" in -*) ${offer(dashed)} ;; *) ${offer(words)} ;; esac ;;`
  })
  .join('\n')}
  esac
}
complete -o default -F _gantry gantry`

const choicesOf = (parts: Part[]) =>
  parts.flatMap(({ name, options }) =>
    options.flatMap(([option, { choices }]) => (choices ? [{ name, option, choices }] : [])),
  )

const pathsOf = (parts: Part[]): string[] => [
  ...new Set(parts.flatMap(({ options }) => options.filter(([, option]) => isPath(option)).map(([name]) => name))),
]

const zsh = (parts: Part[]): string => `#compdef gantry
_gantry() {
  local -a commands
  commands=(
${parts.map(({ name, summary }) => `    ${quoted(`${name}:${plain(summary)}`)}`).join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case $words[2] in
${parts.map(zshCase).join('\n')}
  esac
}
compdef _gantry gantry`

function zshCase({ name, options, words }: Part): string {
  const specs = options.map(([option, about]) => {
    const takes = about.choices ? `(${about.choices.join(' ')})` : isPath(about) ? '_files' : ' '
    return quoted(
      `--${option}[${plain(about.help)}]${about.type === 'boolean' ? '' : `:${plain(about.value ?? '')}:${takes}`}`,
    )
  })
  const rest = words.length > 0 ? [quoted(`*:word:(${words.join(' ')})`)] : [quoted('*:file:_files')]
  return `    ${name}) _arguments ${[...specs, ...rest].join(' ')} ;;`
}

const fish = (parts: Part[]): string =>
  [
    '# fish completion for gantry',
    ...parts.flatMap(({ name, summary, options, words }) => [
      `complete -c gantry -n __fish_use_subcommand -f -a ${name} -d ${quoted(plain(summary))}`,
      ...options.map(([option, about]) => {
        const takes =
          about.type === 'boolean'
            ? ''
            : isPath(about)
              ? ' -r'
              : ` -x${about.choices ? ` -a ${quoted(about.choices.join(' '))}` : ''}`
        return `complete -c gantry -n '__fish_seen_subcommand_from ${name}' -l ${option}${takes} -d ${quoted(plain(about.help))}`
      }),
      ...(words.length > 0
        ? [`complete -c gantry -n '__fish_seen_subcommand_from ${name}' -f -a ${quoted(words.join(' '))}`]
        : []),
    ]),
  ].join('\n')

const SCRIPTS = { bash, zsh, fish }
