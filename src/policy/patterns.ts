import { runInNewContext } from 'node:vm'
import type { Action } from '../api/actions.ts'
import type { SecurityAnalyzer, SecurityRisk } from '../api/security.ts'

type Analyzer = Extract<SecurityAnalyzer, { kind: 'PatternSecurityAnalyzer' }>
type Patterns = [regex: string, description: string, id: string][]

/** More text than this is not scanned but taken to be dangerous: to scan a part would leave the rest to hide in. */
const MOST_CHARACTERS = 2 * 1024 * 1024
/** For all patterns of an action together. The server does nothing else meanwhile, and a pattern can be made to take forever. */
const MOST_MS = 250

const HIGH: Patterns = [
  [
    String.raw`\brm\s+(-\w+\s+)*-\w*(rf|fr|r\s+-\w*f|R)\w*\s+(--\s+)?["']?(/|~|\*|\.\.|\$\w)["']?(\s|\*|$)`,
    'Deletes everything below a root',
    'delete_root',
  ],
  [
    String.raw`\b(curl|wget)\b[^\n|]{0,2000}\|\s*(sudo\s+)?(ba|z|da|k)?sh\b`,
    'Pipes what it fetches into a shell',
    'fetch_to_shell',
  ],
  [
    String.raw`\bbase64\s+(-d|-D|--decode)\b[^\n|]{0,500}\|\s*(sudo\s+)?((ba|z|da|k)?sh|python\d?|perl|node)\b`,
    'Runs what it decodes',
    'decode_to_shell',
  ],
  [String.raw`\bdd\b[^\n]{0,500}\bof=/dev/(sd|hd|vd|nvme|disk|mmcblk)`, 'Overwrites a disk', 'overwrite_disk'],
  [String.raw`\bmkfs(\.\w+)?\s+[^\n]{0,200}/dev/`, 'Formats a disk', 'format_disk'],
  [String.raw`>\s*/dev/(sd|hd|vd|nvme|disk|mmcblk)`, 'Overwrites a disk', 'redirect_to_disk'],
  [String.raw`:\s*\(\s*\)\s*\{\s*:\s*\|\s*:\s*&\s*\}`, 'Starts itself without end', 'fork_bomb'],
  [String.raw`/dev/tcp/[\w.-]{1,200}/\d`, 'Opens a shell to another machine', 'reverse_shell'],
  [String.raw`\b(nc|ncat|netcat)\b[^\n]{0,200}\s-\w*e\b`, 'Opens a shell to another machine', 'netcat_shell'],
  [
    String.raw`\bgit\s+push\b[^\n]{0,500}(--force\b|--mirror\b|\s-f\b)`,
    'Overwrites history that others have',
    'force_push',
  ],
  [String.raw`/etc/(shadow|sudoers)\b`, 'Touches passwords or who may be root', 'system_accounts'],
  [String.raw`\.ssh/(id_\w+|authorized_keys)\b(?!\.pub)`, 'Touches keys', 'ssh_keys'],
  [String.raw`\bchmod\s+(-\w+\s+)*-\w*R\w*\s+(-\w+\s+)*0?777\b`, 'Opens all files to everybody', 'world_writable'],
  [String.raw`169\.254\.169\.254|metadata\.google\.internal`, 'Asks the cloud for credentials', 'cloud_metadata'],
  [
    String.raw`\bshutil\.rmtree\(\s*["'](/|~|\.\.)["']|\brmSync\(\s*["'](/|~|\.\.)["']`,
    'Deletes everything below a root',
    'delete_root_code',
  ],
]

const MEDIUM: Patterns = [
  [String.raw`\bsudo\s`, 'Acts as another user', 'sudo'],
  [String.raw`\bgit\s+(reset\s+--hard|clean\s+-\w*f|filter-branch)`, 'Throws work away', 'discard_work'],
  [String.raw`\b(npm|pnpm|yarn|cargo|poetry|uv)\s+publish\b|\btwine\s+upload\b`, 'Publishes a package', 'publish'],
  [String.raw`\bcrontab\s+(-e|-r|-|\S+)`, 'Has something run later', 'crontab'],
  [
    String.raw`\b(eval|exec)\s*\(\s*(base64|atob|requests|urllib|Buffer)`,
    'Runs what it decodes or fetches',
    'dynamic_code',
  ],
  [
    String.raw`\bcurl\b[^\n]{0,1000}\s(-d|--data\S*|-F|--form|-T|--upload-file)[ =]?\S*@`,
    'Sends a file elsewhere',
    'upload',
  ],
  [String.raw`\b(drop\s+(database|schema|table)|truncate\s+table)\b`, 'Destroys a database', 'drop_database'],
]

const INJECTION_HIGH: Patterns = [
  [
    String.raw`\b(ignore|disregard|forget)\s+(all\s+)?(of\s+)?(the\s+|your\s+|my\s+)?(previous|prior|above|earlier|preceding)\s+(instructions|rules|prompts|messages|directions)`,
    'Tries to replace the instructions',
    'override',
  ],
  [
    String.raw`<\|(im_start|im_end|system|endoftext)\|>|\[/?INST\]|<<SYS>>`,
    'Imitates the marks of a conversation',
    'chat_marks',
  ],
  [
    String.raw`\b(you\s+are\s+now|act\s+as|enter)\s+(in\s+)?(DAN|developer\s+mode|jailbroken|unrestricted)\b`,
    'Tries to lift restrictions',
    'jailbreak',
  ],
]

const INJECTION_MEDIUM: Patterns = [
  [
    String.raw`\b(do\s+not|don't|never)\s+(tell|inform|mention\s+(this|it)\s+to|alert)\s+(the\s+)?user`,
    'Wants something kept from the user',
    'concealment',
  ],
  [
    String.raw`\b(reveal|print|show|repeat)\s+(me\s+)?(the\s+|your\s+)?(system\s+prompt|hidden\s+instructions)`,
    'Asks for the instructions',
    'prompt_leak',
  ],
]

/** What the patterns find in an action: in its tool's name and in every text of it, as written and with disguising characters undone. */
export function patternRisk(analyzer: Analyzer, toolName: string, action: Action): SecurityRisk {
  const written = textOf(toolName, action)
  if (written.length > MOST_CHARACTERS) return 'HIGH'
  const plain = written.normalize('NFKC').replace(/[\u00AD\u200B-\u200F\u202A-\u202E\u2060-\u2064\uFEFF]/g, '')
  const text = plain === written ? written : `${written}\n${plain}`
  const found = (patterns: Patterns) => patterns.some(([regex]) => new RegExp(regex, 'im').test(text))
  return inTime((): SecurityRisk => {
    if (found(analyzer.high_patterns ?? HIGH) || found(analyzer.injection_high_patterns ?? INJECTION_HIGH))
      return 'HIGH'
    if (found(analyzer.medium_patterns ?? MEDIUM) || found(analyzer.injection_medium_patterns ?? INJECTION_MEDIUM))
      return 'MEDIUM'
    return 'LOW'
  })
}

function textOf(toolName: string, action: Action): string {
  const texts = [toolName]
  const waiting: unknown[] = [action]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (typeof value === 'string') texts.push(value)
    else if (typeof value === 'object' && value !== null)
      for (const [key, inner] of Object.entries(value)) waiting.push(inner, ...(Array.isArray(value) ? [] : [key]))
  }
  return texts.join('\n')
}

/** Only V8 itself can stop a regular expression that is running, and it does so for scripts with a time limit. */
const inTime = <T>(work: () => T): T => runInNewContext('work()', { work }, { timeout: MOST_MS })
