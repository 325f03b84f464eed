import { posix } from 'node:path'
import type { Word } from '../shell/script.ts'
import type { Level } from './rule.ts'

/** A path in one spelling: from `dir` if relative, homes as `~`, other ways to the root and doubled slashes gone. */
export function spelled(text: string, dir = ''): string {
  const whole = /^[/~]/.test(text) || dir === '' ? text : `${dir}/${text}`
  const path = posix.normalize(whole.replace(/^\/proc\/[^/]+\/root(?=\/)/, ''))
  return path.replace(/^(\/root|\/home\/[^/]+|\/Users\/[^/]+|~[\w-]*)(?=\/|$)/, '~')
}

/** What of a word may be the name of a file: also after `=`, `@`, `host:` and `file://`. */
export function pathsIn({ text }: Word): string[] {
  const parts = [text, ...text.split(/[=@:,]/).slice(1), text.replace(/^.*file:\/\//i, '')]
  return [...new Set(parts)].filter(part => part !== '' && part.length < 4096)
}

type Places = [RegExp, Level][]

const at = (places: string, end = '(/|$)') => new RegExp(`(^|/)(${places})${end}`, 'i')

/** Where credentials are kept. */
const SECRETS: Places = [
  [/\.pub$|(^|\/)known_hosts|\.env\.(example|sample|template|dist)$/i, 'LOW'],
  [at(String.raw`\.ssh|\.aws|\.gnupg|\.azure|\.config/(gcloud|gh|hub|rclone|op)|\.password-store|keychains`), 'HIGH'],
  [
    at(String.raw`\.netrc|_netrc|\.pgpass|\.my\.cnf|\.pypirc|\.git-credentials|\.vault-token|\.kube/config`, '$'),
    'HIGH',
  ],
  [at(String.raw`\.docker/config\.json|\.(cargo|gem)/credentials(\.toml)?|\.terraform\.d/credentials.*`, '$'), 'HIGH'],
  [/^~\/\.npmrc$|(^|\/)id_(rsa|dsa|ecdsa|ed25519)(_\w+)?$/i, 'HIGH'],
  [/^\/etc\/(g?shadow|sudoers|master\.passwd|ssl\/private|ssh\/ssh_host_\w+_key|krb5\.keytab)/i, 'HIGH'],
  [/^\/proc\/[^/]+\/(environ|mem)$|^(\/var)?\/run\/secrets(\/|$)/i, 'HIGH'],
  [/(^|\/)\.env(\.(local|prod|production|dev|development|staging|test|secret)(\.local)?)?$|(^|\/)\.envrc$/i, 'HIGH'],
  [at('login data|cookies.sqlite|logins.json|key4.db', '$'), 'HIGH'],
  [/\.(pem|p12|pfx|key|kdbx|keystore|jks)$|(^|\/)\.(bash|zsh)_history$/i, 'MEDIUM'],
  [at(String.raw`(client_)?secrets?\.(ya?ml|json|toml)|credentials(\.json)?|service-account.*\.json`, '$'), 'MEDIUM'],
]

/** What runs by itself later, or says who may do what. */
const LASTING: Places = [
  [/^\/dev\/(null|zero|stdin|stdout|stderr|tty|fd\/\d+|shm\/.*)$/, 'LOW'],
  [
    at(
      String.raw`\.(bashrc|bash_\w+|profile|zshrc|zprofile|zshenv|zlogin|kshrc|[t]?cshrc|xprofile|xinitrc|inputrc)`,
      '$',
    ),
    'HIGH',
  ],
  [at(String.raw`\.config/(fish|systemd|autostart|git)|library/launch(agents|daemons)|\.ssh|\.aws|\.gnupg`), 'HIGH'],
  [
    at(
      String.raw`\.git/(hooks|config|info/attributes)|\.gitconfig|\.netrc|\.pypirc|\.docker/config\.json|\.kube/config`,
    ),
    'HIGH',
  ],
  [/^~\/\.npmrc$/i, 'HIGH'],
  [/^\/(etc|boot|bin|sbin|lib\w*|proc|sys|dev)(\/|$)|^\/var\/spool\/cron|^\/usr\/(bin|sbin|lib\w*)\//i, 'HIGH'],
  [/^\/(usr|opt|var)\//i, 'MEDIUM'],
  [
    at(String.raw`\.github/workflows|\.github/actions|\.circleci|\.buildkite|\.husky|\.devcontainer|\.vscode`),
    'MEDIUM',
  ],
  [
    at(
      String.raw`\.gitlab-ci\.ya?ml|jenkinsfile|azure-pipelines\.ya?ml|bitbucket-pipelines\.ya?ml|\.travis\.ya?ml`,
      '$',
    ),
    'MEDIUM',
  ],
  [
    at(String.raw`\.drone\.ya?ml|cloudbuild\.ya?ml|\.pre-commit-config\.ya?ml|\.npmrc|\.envrc|\.gitattributes`, '$'),
    'MEDIUM',
  ],
]

/** Secrets that a pattern of file names is tried on. */
const EXAMPLES = [
  '/etc/shadow',
  '~/.ssh/id_rsa',
  '~/.ssh/id_ed25519',
  '~/.aws/credentials',
  '~/.netrc',
  '~/.git-credentials',
  'id_rsa',
  '.env',
  '.ssh/id_rsa',
]

const levelIn = (places: Places, path: string): Level => places.find(([pattern]) => pattern.test(path))?.[1] ?? 'LOW'

/** How bad it is to read there. */
export function secrecy(path: string): Level {
  const level = levelIn(SECRETS, path)
  return level === 'LOW' && /[*?[]/.test(path) && EXAMPLES.some(example => matchesGlob(path, example)) ? 'HIGH' : level
}

/** How bad it is to write there. */
export const lastingness = (path: string): Level => levelIn(LASTING, path)

/** As a shell matches: a name that begins with a dot only by a pattern that does. */
export function matchesGlob(pattern: string, path: string): boolean {
  if (pattern.length > 200) return false
  const names = path.split('/')
  const patterns = pattern.split('/')
  return (
    patterns.length === names.length &&
    patterns.every((one, index) => {
      const name = names[index]!
      return name.startsWith('.') === one.startsWith('.') && posix.matchesGlob(name, one)
    })
  )
}
