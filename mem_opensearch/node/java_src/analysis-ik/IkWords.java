/*
 * Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
 * the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
 */
package org.memopensearch.ik;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.wltea.analyzer.cfg.Configuration;
import org.wltea.analyzer.dic.Dictionary;

/** Loads IK's dictionary, which is one for the whole process, together with the words of the user. */
final class IkWords {
    private static final Logger LOGGER = LogManager.getLogger(IkWords.class);
    private static boolean loaded;

    private IkWords() {}

    /** Loads both once; later calls wait until that is done and return at once. */
    static synchronized void load(Path configPath) {
        if (loaded) {
            return;
        }
        Dictionary dictionary = Dictionary.initial(configuration(false));
        Path file = configPath.resolve("ik").resolve("user.dic");
        if (Files.isRegularFile(file)) {
            List<String> words = new ArrayList<>();
            try {
                for (String line : Files.readAllLines(file, StandardCharsets.UTF_8)) {
                    String word = regular(line);
                    if (!word.isEmpty()) {
                        words.add(word);
                    }
                }
            } catch (IOException error) {
                throw new IllegalStateException("the user dictionary " + file + " can't be read", error);
            }
            dictionary.addWords(words);
            LOGGER.info("{} words of the user dictionary are in use", words.size());
        }
        loaded = true;
    }

    static Configuration configuration(boolean smart) {
        return new Words(smart);
    }

    /** A word in the form that IK gives to the text before it looks words up: half-width and lower case. */
    private static String regular(String line) {
        StringBuilder word = new StringBuilder(line.length());
        for (char c : line.strip().toCharArray()) {
            word.append(c >= 0xFF01 && c <= 0xFF5E ? (char) (c - 0xFEE0) : c);
        }
        return word.toString().toLowerCase(Locale.ROOT);
    }

    /**
     * IK's own words, but only the stop words of the analysis-ik plugin. The artifact also brings some 1,200 Chinese
     * ones, among them 不 and 没有, without which a memory and its opposite are the same.
     */
    private static final class Words implements Configuration {
        private boolean smart;

        private Words(boolean smart) {
            this.smart = smart;
        }

        @Override
        public boolean useSmart() {
            return smart;
        }

        @Override
        public void setUseSmart(boolean useSmart) {
            smart = useSmart;
        }

        @Override
        public String getMainDictionary() {
            return "org/wltea/analyzer/dic/main2012.dic";
        }

        @Override
        public String getQuantifierDicionary() {
            return "org/wltea/analyzer/dic/quantifier.dic";
        }

        @Override
        public List<String> getExtDictionarys() {
            return List.of();
        }

        @Override
        public List<String> getExtStopWordDictionarys() {
            return List.of("stopwords.dic");
        }
    }
}
