import { type Command, emptyCommand, plainWord, type Redirect, Unparsable, type Word } from './script.ts'
import { MOST_NESTED, type Shared, Words } from './words.ts'

const MOST_COMMANDS = 5000
const MOST_WORDS = 10_000
/** Of a variable: assignments can double it without end. */
const MOST_REMEMBERED = 4096
/** Each remembers all that feeds it. */
const LONGEST_PIPE = 200

/** The commands of a shell text, also those inside others, in the order they are written. Throws Unparsable. */
export function parseShell(text: string): Command[] {
  const shared: Shared = { commands: [], variables: new Map(), depth: 0 }
  new Parser(text, shared).commandsUntil('')
  return shared.commands
}

/** Something that is open: a group, a loop, a substitution. */
interface Frame {
  closer: string
  /** What feeds all of it. */
  fed: Command[]
  /** Its commands so far. */
  commands: Command[]
  /** What feeds the next command of it. */
  pipe: Command[]
  function: string | undefined
  /** In `case`, where a pattern comes next. */
  pattern: boolean
}

const CLOSER: Record<string, string> = { if: 'fi', while: 'done', until: 'done', '{': '}' }
const BETWEEN = new Set(['then', 'else', 'elif', 'do', '!', 'coproc'])
const OPERATORS = ['&&', '||', ';;&', ';;', ';&', '|&', '|', ';', '&', '\n']
const REDIRECT = /^(?:\d{1,9}|\{\w{1,50}\})?(<<<|<<-|<<|<&|<>|>>|>&|>\||&>>|&>|<(?!\()|>(?!\())/
const ASSIGNMENT = /^([A-Za-z_]\w*)(?:\[[^\]$`]*\])?\+?=/

class Parser extends Words {
  #frames: Frame[] = []
  #function: string | undefined
  /** Here-documents announced, whose text begins on the next line. */
  #documents: Redirect[] = []

  protected override inside(text: string): Words {
    return new Parser(text, this.shared)
  }

  override commandsUntil(closer: string): Command[] {
    const outer = this.#frames
    this.#frames = []
    const root = this.#open(closer)
    while (this.#frames.length > 0) {
      this.skipBlanks()
      if (this.at < this.text.length) this.#next()
      else if (this.#frames.length === 1 && closer === '') this.#frames.pop()
      else throw new Unparsable('It ends in the middle')
    }
    this.#frames = outer
    return root.commands
  }

  get #frame(): Frame {
    return this.#frames.at(-1)!
  }

  #open(closer: string): Frame {
    if (this.#frames.length > MOST_NESTED) throw new Unparsable('It is nested too deeply')
    const above = this.#frames.at(-1)
    const fed = above ? [...above.fed, ...above.pipe] : []
    const frame: Frame = { closer, fed, commands: [], pipe: [], function: this.#function, pattern: closer === 'esac' }
    this.#function = undefined
    this.#frames.push(frame)
    return frame
  }

  #close(closer: string): void {
    const frame = this.#frame
    if (frame.closer !== closer) throw new Unparsable(`Nothing is open that ${closer} closes`)
    this.#frames.pop()
    const above = this.#frames.at(-1)
    if (!above) return
    this.skipBlanks()
    const group = this.#begin()
    while (this.#redirect(group)) this.skipBlanks()
    // What is redirected for all of it is so for each.
    for (const command of frame.commands) command.redirects.push(...group.redirects)
    above.commands.push(...frame.commands)
    this.#piped(frame.commands)
  }

  #next(): void {
    const operator = OPERATORS.find(one => this.is(one))
    if (this.peek() === '#') this.at = Math.max(this.text.indexOf('\n', this.at), 0) || this.text.length
    else if (this.#frame.pattern && operator !== '\n') this.#pattern()
    else if (operator && !this.is('&>')) this.#operator(operator)
    else if (this.peek() === ')') {
      this.at += 1
      this.#close(')')
    } else if (this.is('((') && this.arithmetic(plainWord(''), 2)) this.#frame.pipe = []
    else if (this.peek() === '(') {
      this.at += 1
      this.#open(')')
    } else this.#command()
  }

  #operator(operator: string): void {
    this.at += operator.length
    if (operator === '\n') this.#readDocuments()
    if (operator.startsWith(';;') || operator === ';&') {
      if (this.#frame.closer !== 'esac') throw new Unparsable('Two semicolons outside of a case')
      this.#frame.pattern = true
    }
    this.#frame.pipe = []
  }

  #pattern(): void {
    if (this.peek() === '(') this.at += 1
    for (let first = true; ; first = false) {
      this.skipBlanks()
      const word = this.word()
      if (first && word.text === 'esac' && !word.quoted) {
        this.#close('esac')
        return
      }
      this.skipBlanks()
      if (this.at >= this.text.length || !'|)'.includes(this.peek())) throw new Unparsable('A case has no pattern')
      this.at += 1
      if (this.text[this.at - 1] === ')') break
    }
    this.#frame.pattern = false
  }

  #begin(): Command {
    const frame = this.#frame
    const within = this.#frames.flatMap(one => one.function ?? [])
    return { ...emptyCommand(), upstream: [...frame.fed, ...frame.pipe], within }
  }

  #add(command: Command): void {
    if (this.shared.commands.push(command) > MOST_COMMANDS) throw new Unparsable('It holds too many commands')
    this.#frame.commands.push(command)
  }

  /** What was just read feeds what follows, if a pipe follows. */
  #piped(element: Command[]): void {
    this.skipBlanks()
    const pipe = this.peek() === '|' && !this.is('||')
    if (pipe || (this.peek() === '&' && !this.is('&&'))) for (const one of element) one.detached = true
    if (!pipe) return
    this.at += this.is('|&') ? 2 : 1
    this.#frame.pipe.push(...element)
    if (this.#frame.pipe.length > LONGEST_PIPE) throw new Unparsable('It pipes through too many commands')
    for (this.skipBlanks(); this.peek() === '\n'; this.skipBlanks()) {
      this.at += 1
      this.#readDocuments()
    }
  }

  #command(): void {
    const command = this.#begin()
    for (;;) {
      this.skipBlanks()
      if (this.at >= this.text.length || this.peek() === '#') break
      if (this.#redirect(command)) continue
      if (this.#isFunction(command)) return
      const start = this.at
      const words = this.#assignment(command) ? [] : this.words()
      if (this.at === start) break
      const [word] = words
      if (word && command.words.length === 0 && command.assigned.length === 0 && !word.quoted && !word.unknown) {
        if (this.#keyword(word.text, command)) return
      }
      if (command.words.push(...words) > MOST_WORDS) throw new Unparsable('It holds too many words')
      if (word?.text === '[[' && command.words.length === 1) this.#test(command)
    }
    if (this.peek() === '(') throw new Unparsable('A parenthesis is out of place')
    this.#add(command)
    if (command.words.length === 0 || /^(export|declare|local|readonly|typeset)$/.test(command.words[0]!.text))
      for (const { name, value } of command.assigned)
        this.shared.variables.set(name, value.text.slice(0, MOST_REMEMBERED))
    this.#piped([command])
  }

  #keyword(word: string, command: Command): boolean {
    const frame = this.#frame
    if (word === frame.closer && word !== '') this.#close(word)
    else if (CLOSER[word]) this.#open(CLOSER[word])
    else if (word === 'for' || word === 'select') this.#loop(command)
    else if (word === 'case') this.#case(command)
    else if (word === 'function') this.#named()
    else if (['fi', 'done', 'esac', '}'].includes(word)) throw new Unparsable(`Nothing is open that ${word} closes`)
    else if (!BETWEEN.has(word)) return false
    return true
  }

  #loop(command: Command): void {
    this.skipBlanks()
    this.#open('done')
    if (this.is('((')) {
      if (!this.arithmetic(plainWord(''), 2)) throw new Unparsable('A loop is not closed')
      return
    }
    const name = this.word().text
    for (this.skipBlanks(); this.peek() === '\n'; this.skipBlanks()) this.at += 1
    if (!/^in\s/.test(this.peek(3))) return
    this.at += 2
    command.words.push(plainWord('for'))
    for (this.skipBlanks(); !/^[\n;]?$/.test(this.peek()); this.skipBlanks()) {
      const start = this.at
      command.words.push(...this.words())
      if (this.at === start) throw new Unparsable('A loop is not one')
    }
    this.#add(command)
    this.shared.variables.set(name, command.words[1]?.text ?? '')
  }

  #case(command: Command): void {
    this.skipBlanks()
    command.words.push(plainWord('case'), ...this.words())
    this.#add(command)
    for (this.skipBlanks(); this.peek() === '\n'; this.skipBlanks()) this.at += 1
    if (this.word().text !== 'in') throw new Unparsable('A case is not one')
    this.#open('esac')
  }

  #named(): void {
    this.skipBlanks()
    this.#function = this.word().text
    this.skipBlanks()
    if (/^\(\s*\)/.test(this.peek(20))) this.at = this.text.indexOf(')', this.at) + 1
    this.#body()
  }

  #isFunction(command: Command): boolean {
    const [name] = command.words
    if (!name || command.words.length > 1 || !/^\([ \t]*\)/.test(this.peek(20))) return false
    this.at = this.text.indexOf(')', this.at) + 1
    this.#function = name.text
    this.#body()
    return true
  }

  #body(): void {
    while (/\s/.test(this.peek())) this.at += 1
    if (this.at >= this.text.length) throw new Unparsable('A function has no body')
  }

  #test(command: Command): void {
    while (command.words.at(-1)!.text !== ']]') {
      while (/^[\s()<>&|;]$/.test(this.peek()) && !this.is('<(')) this.at += 1
      if (this.at >= this.text.length) throw new Unparsable('A test is not closed')
      const start = this.at
      const words = this.words()
      if (this.at === start) throw new Unparsable('A test is not one')
      command.words.push(...words)
    }
  }

  /** `name=value`, as a prefix or as what `export` and its like are told. */
  #assignment(command: Command): boolean {
    const [program] = command.words
    if (program && !/^(export|declare|local|readonly|typeset|alias)$/.test(program.text)) return false
    const [match, name = ''] = ASSIGNMENT.exec(this.peek(300)) ?? []
    if (!match) return false
    this.at += match.length
    const values = this.peek() === '(' ? this.#array() : [this.word()]
    const value = {
      ...values[0]!,
      text: values
        .map(one => one.text)
        .join(' ')
        .trim(),
    }
    value.inner = values.flatMap(one => one.inner)
    value.unknown = values.some(one => one.unknown)
    command.assigned.push({ name, value })
    return true
  }

  #array(): Word[] {
    const values: Word[] = [plainWord('')]
    this.at += 1
    while (this.peek() !== ')') {
      const start = this.at
      if (/\s/.test(this.peek())) this.at += 1
      else values.push(...this.words())
      if (this.at === start) throw new Unparsable('A list is not closed')
    }
    this.at += 1
    return values
  }

  #redirect(command: Command): boolean {
    const [match, operator] = REDIRECT.exec(this.peek(60)) ?? []
    if (!match || !operator) return false
    this.at += match.length
    this.skipBlanks()
    const redirect: Redirect = { operator, target: this.word() }
    if (operator === '<<' || operator === '<<-') this.#documents.push(redirect)
    command.redirects.push(redirect)
    return true
  }

  #readDocuments(): void {
    for (const document of this.#documents.splice(0)) {
      const { operator, target } = document
      const lines: string[] = []
      while (this.at < this.text.length) {
        const end = this.text.indexOf('\n', this.at)
        const line = this.text.slice(this.at, end < 0 ? undefined : end)
        this.at = end < 0 ? this.text.length : end + 1
        if ((operator === '<<-' ? line.replace(/^\t+/, '') : line) === target.text) break
        lines.push(line)
      }
      const body = lines.join('\n')
      document.body = target.quoted ? plainWord(body) : new Parser(body, this.shared).quotedWhole()
    }
  }
}
