import type { Word } from '../shell/script.ts'
import type { Call } from './call.ts'
import { hasLong, readOptions } from './options.ts'
import { spelled } from './paths.ts'
import { type Level, type Rule, type Scene, worst } from './rule.ts'

/** What builds leave behind: made again by the next one. */
const REMADE =
  /(^|\/)(node_modules|dist|build|out|target|coverage|tmp|temp|__pycache__|\.cache|\.next|\.nuxt|\.turbo|\.tox|\.nox|\.venv|venv|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.parcel-cache|\.nyc_output|htmlcov|[\w.-]+\.egg-info|logs?)\/?$/

/** How bad it is to lose all that is below. */
function loss(word: Word, { dir }: Scene): Level {
  const path = spelled(word.text, dir)
  if (word.unknown && !/^[\w.][^/]*\/./.test(word.text)) return 'HIGH'
  if (/^\/tmp\/[^/*]+/.test(path)) return 'LOW'
  if (/^[/~]|^\.\.(\/|$)|^\.\/?$|^\*|(^|\/)\.git\/?$|^\.\*/.test(path)) return 'HIGH'
  if (/\/\.?\*$/.test(path) || /^\.\[|^[?[]/.test(path))
    return REMADE.test(path.replace(/\/[^/]*$/, '')) ? 'LOW' : 'MEDIUM'
  const isFile = /^[\w-]+\.[a-z]{1,5}$/.test(path)
  return (REMADE.test(path) || isFile) && !word.glob ? 'LOW' : 'MEDIUM'
}

const DELETERS = /^(rm|rimraf|trash|srm|del|rd)$/

const recursiveDelete: Rule = {
  id: 'recursive-delete',
  why: 'Deletes folders with all that is in them',
  judge(call, scene) {
    const { name, args, command } = call
    const options = readOptions(args)
    if (name === 'find' && args.some(({ text }) => text === '-delete')) return found(call, scene)
    if (name === 'rsync' && [...options.flags].some(flag => flag.startsWith('del'))) return 'MEDIUM'
    if (!DELETERS.test(name)) return 'LOW'
    if (hasLong(options, 'no-preserve-root')) return 'HIGH'
    const recursive = name !== 'rm' || options.flags.has('r') || options.flags.has('R') || hasLong(options, 'recursive')
    const levels = options.operands.map(word => loss(word, scene))
    if (!recursive) return options.operands.some(({ text }) => /^(\*|\/\*|~\/\*|\.\*)$/.test(text)) ? 'HIGH' : 'LOW'
    const piped = options.operands.length === 0 || options.operands.some(({ text }) => text.includes('{}'))
    const within =
      command.words[0]?.text === 'find' ? found({ ...call, args: command.words.slice(1) }, scene) : 'MEDIUM'
    return worst([
      ...levels.filter((_, index) => !options.operands[index]!.text.includes('{}')),
      piped ? within : 'LOW',
    ])
  },
}

/** What `find` deletes: all below its starting points, unless its tests choose among them. */
function found({ args }: Call, scene: Scene): Level {
  const starts = args.slice(
    0,
    args.findIndex(({ text }) => /^[-(!]/.test(text)),
  )
  const chooses = args.some(({ text }) => /^-(i?name|i?path|i?regex|empty|mtime|newer|size)$/.test(text))
  const levels = starts.length === 0 ? (['HIGH'] as Level[]) : starts.map(word => loss(word, scene))
  return worst(levels) === 'HIGH' && chooses && starts.every(({ text, unknown }) => !/^[/~]/.test(text) && !unknown)
    ? 'LOW'
    : worst(levels)
}

const DEVICE = /^\/dev\/(sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|mapper|dm-|md|loop|mem|kmem|port)/
const WIPERS =
  /^(mkfs(\..*)?|mke2fs|mkswap|wipefs|fdisk|sfdisk|gdisk|sgdisk|parted|blkdiscard|hdparm|cryptsetup|lvremove|vgremove|pvremove|badblocks)$/

const diskWipe: Rule = {
  id: 'disk-wipe',
  why: 'Overwrites a disk or formats it',
  judge({ name, args, command }) {
    const texts = args.map(({ text }) => text)
    if (WIPERS.test(name)) return texts.some(text => /^(-l|--list|--version|--help|-V)$/.test(text)) ? 'LOW' : 'HIGH'
    if (name === 'zpool' || name === 'zfs') return texts[0] === 'destroy' ? 'HIGH' : 'LOW'
    if (name === 'diskutil') return /erase|partition|zero/i.test(texts[0] ?? '') ? 'HIGH' : 'LOW'
    const written = command.redirects.filter(({ operator }) => operator.includes('>')).map(({ target }) => target.text)
    if (written.some(text => DEVICE.test(spelled(text)))) return 'HIGH'
    if (
      name === 'dd' &&
      args.some(({ text, unknown }) => /^of=/.test(text) && (unknown || DEVICE.test(spelled(text.slice(3)))))
    )
      return 'HIGH'
    if (/^(shred|tee|cp|mv|cat|truncate|ddrescue|pv)$/.test(name) && texts.some(text => DEVICE.test(spelled(text))))
      return 'HIGH'
    return name === 'shred' || (name === 'truncate' && args.some(({ text }) => /^[/~]/.test(text))) ? 'MEDIUM' : 'LOW'
  },
}

const WIDE_OPEN = /^0?[0-7]?(777|666|776|767)$|^(a|o|ugo|go|)\+?[=+][rx]*w/

const permissions: Rule = {
  id: 'permissions',
  why: 'Changes who may read, write or run files far and wide',
  judge({ name, args }, { dir }) {
    const options = readOptions(args)
    const recursive = options.flags.has('R') || hasLong(options, 'recursive')
    // A mode such as -w or -x looks like an option.
    const [mode, ...files] = options.operands
    const far = files.some(
      ({ text, unknown }) => /^[/~]|^\.\.(\/|$)/.test(spelled(text, dir)) || (unknown && text === ''),
    )
    if (name === 'chmod') {
      if (/^[ugoa]*\+[rwx]*s|^[2467]\d{3}$|^0[2467]\d{3}$/.test(mode?.text ?? '')) return 'HIGH'
      if (WIDE_OPEN.test(mode?.text ?? '')) return recursive || far ? 'HIGH' : 'MEDIUM'
      return recursive && far ? 'HIGH' : 'LOW'
    }
    if (name === 'chown' || name === 'chgrp') return recursive ? (far ? 'HIGH' : 'MEDIUM') : 'LOW'
    if (
      /^(setcap|chattr|visudo|useradd|usermod|userdel|adduser|deluser|groupadd|gpasswd|passwd|chpasswd|chsh)$/.test(
        name,
      )
    )
      return 'HIGH'
    return name === 'setfacl' && recursive ? 'MEDIUM' : 'LOW'
  },
}

const processes: Rule = {
  id: 'processes',
  why: 'Ends processes that it did not name one by one, or the machine',
  judge({ name, args }) {
    const texts = args.map(({ text }) => text)
    if (name === 'kill') {
      const rest = texts.filter(
        (text, index) => !(index === 0 && /^-(\w+)$/.test(text) && texts.length > 1) && text !== '--',
      )
      return rest.some(text => text === '-1' || text === '1' || text === '0') ? 'HIGH' : 'LOW'
    }
    if (name === 'pkill' || name === 'killall') {
      const options = readOptions(args, 'tugPGUsF')
      const all = options.operands.every(({ text }) => /^[.*^$]*$/.test(text))
      return all || options.flags.has('u') || options.flags.has('U') ? 'HIGH' : 'MEDIUM'
    }
    if (/^(killall5|shutdown|reboot|halt|poweroff|telinit)$/.test(name)) return 'HIGH'
    return name === 'init' && /^[06s]$/i.test(texts[0] ?? '') && texts.length === 1 ? 'HIGH' : 'LOW'
  },
}

const system: Rule = {
  id: 'system',
  why: 'Changes the machine itself: its kernel, firewall, mounts or containers with the run of the host',
  judge({ name, args }) {
    const texts = args.map(({ text }) => text)
    if (
      /^(insmod|modprobe|rmmod|kexec|iptables|ip6tables|nft|ufw|setenforce|swapoff|grub-install|efibootmgr)$/.test(name)
    )
      return texts.some(text => /^(-L|--list|status|list)$/.test(text)) ? 'LOW' : 'HIGH'
    if (name === 'mount' || name === 'umount') return texts.length > 0 ? 'HIGH' : 'LOW'
    if (name === 'sysctl') return texts.some(text => /^-w$|=/.test(text)) ? 'HIGH' : 'LOW'
    if (name === 'docker' || name === 'podman') {
      const text = texts.join(' ')
      if (
        /--privileged|docker\.sock|(-v|--volume)[ =]?\/:|source=\/,|--pid[ =]host|--cap-add[ =](ALL|SYS_ADMIN)/.test(
          text,
        )
      )
        return 'HIGH'
      return /\b(system|volume|image|container|network|builder) prune\b|\bvolume rm\b|\bdown\b.*(-v|--volumes)\b/.test(
        text,
      )
        ? 'MEDIUM'
        : 'LOW'
    }
    return 'LOW'
  },
}

const privilege: Rule = {
  id: 'privilege',
  why: 'Acts as another user',
  judge: ({ name }) => (/^(sudo|doas|su|pkexec|runuser|gosu|su-exec|chroot|nsenter)$/.test(name) ? 'MEDIUM' : 'LOW'),
}

const persistence: Rule = {
  id: 'persistence',
  why: 'Has something run later, or at every start, by itself',
  judge({ name, args, command }) {
    const texts = args.map(({ text }) => text)
    if (name === 'crontab') return texts.some(text => /^-[a-z]*l/.test(text)) ? 'LOW' : 'HIGH'
    if (name === 'at' || name === 'batch') return texts.some(text => text === '-l') ? 'LOW' : 'HIGH'
    if (name === 'systemctl')
      return /^(enable|link|edit|mask|set-default|poweroff|reboot|isolate)$/.test(
        texts.find(text => !text.startsWith('-')) ?? '',
      )
        ? 'HIGH'
        : texts.some(text => /^(start|stop|restart|disable|daemon-reload)$/.test(text))
          ? 'MEDIUM'
          : 'LOW'
    if (name === 'launchctl') return /^(load|bootstrap|submit|enable)$/.test(texts[0] ?? '') ? 'HIGH' : 'LOW'
    if (/^(update-rc\.d|chkconfig|rc-update|systemd-run)$/.test(name)) return 'HIGH'
    const loaders =
      /^(LD_PRELOAD|LD_LIBRARY_PATH|DYLD_INSERT_LIBRARIES|BASH_ENV|PROMPT_COMMAND|GIT_SSH_COMMAND|GIT_EXTERNAL_DIFF)$/
    return command.assigned.some(one => loaders.test(one.name)) ? 'MEDIUM' : 'LOW'
  },
}

export const machineRules: Rule[] = [recursiveDelete, diskWipe, permissions, processes, system, privilege, persistence]
