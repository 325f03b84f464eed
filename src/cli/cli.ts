import { BadUsage, didYouMean } from '../lib/usage.ts'
import { GANTRY_VERSION } from '../version.ts'
import { commands } from './index.ts'
import { exit, type Io, say } from './io.ts'

/** Carries a command line out; gives the code to exit with. What a person got wrong, or the world refused, is one line. */
export async function cli(argv: string[], io: Io): Promise<number> {
  const name = nameIn(argv)
  try {
    return await dispatch(name, argv, io)
  } catch (error) {
    if (error instanceof BadUsage) {
      const command = name !== undefined && Object.hasOwn(commands, name) ? `gantry ${name} ` : ''
      say(io.stderr, `gantry: ${error.message} (see ${command}--help)`)
      return exit.usage
    }
    const { message, code } = (await import('./explain.ts')).explain(error)
    say(io.stderr, `gantry: ${message}`)
    return code
  }
}

/** Without a command it is the server that is meant. */
const nameIn = ([first]: string[]): string | undefined => (first?.startsWith('-') ? undefined : first)

async function dispatch(name: string | undefined, argv: string[], io: Io): Promise<number> {
  if (argv[0] === 'help' && argv[1] !== undefined) return dispatch(argv[1], [argv[1], '--help'], io)
  if (['help', '--help', '-h'].includes(argv[0] ?? '')) {
    say(io.stdout, (await import('./help.ts')).overview())
    return exit.finished
  }
  if (argv[0] === '--version') {
    say(io.stdout, GANTRY_VERSION)
    return exit.finished
  }
  if (name === undefined) return commands.serve!.run(io, argv)
  if (!Object.hasOwn(commands, name))
    throw new BadUsage(`there is no command "${name}"${didYouMean(name, Object.keys(commands))}`)
  const command = commands[name]!
  const rest = argv.slice(1)
  if (name !== 'serve' && wantsHelp(rest)) {
    say(io.stdout, await (await import('./help.ts')).helpOf(name, command))
    return exit.finished
  }
  return command.run(io, rest)
}

const wantsHelp = (argv: string[]): boolean => {
  const end = argv.indexOf('--')
  return argv.slice(0, end < 0 ? argv.length : end).some(word => word === '--help' || word === '-h')
}
